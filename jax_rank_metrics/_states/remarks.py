"""Words by which tables know a remark on values among others."""

TIED = "items tie for"
