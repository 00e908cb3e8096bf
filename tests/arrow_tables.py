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


class DatasetDict(dict):
    """The splits of a `Dataset`."""

    def with_format(self, kind):
        """The same splits in another format."""
        return DatasetDict({key: self[key].with_format(kind) for key in self})


class Dataset:
    """A `Dataset` of Hugging Face, whose rows are a table of Arrow in one format."""

    def __init__(self, frame):
        """A frame of polars."""
        self.frame, self.column_names = frame, frame.columns

    def with_format(self, kind):
        """The same data in another format."""
        assert kind == "arrow"
        dataset = Dataset(self.frame)
        dataset.is_arrow = True
        return dataset

    def __getitem__(self, rows):
        """Rows, in the format that was asked for."""
        assert self.is_arrow and rows == slice(None)
        return ArrowTable(self.frame)

    def to_pandas(self):
        """A frame of pandas."""
        return self.frame.to_pandas()
