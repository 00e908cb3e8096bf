"""Tables of Arrow without its library, such as queries of a database return."""


class ArrowTable:
    """A table of pyarrow, whose `columns` are its data."""

    def __init__(self, frame):
        """A frame of polars, by columns."""
        self.frame, self.columns = frame, frame.get_columns()
        self.column_names = frame.columns

    def __getitem__(self, name):
        """A column."""
        return self.frame[name]

    def __arrow_c_stream__(self, requested_schema=None):
        """The data as a stream of Arrow."""
        return self.frame.__arrow_c_stream__(requested_schema)
