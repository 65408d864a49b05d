"""Everything that restrains: rows, their common language (`rows`), and the elements that write them (`elements`)."""
