-- NAME is that of a generation: memory_1, memory_2 and on.

-- What is remembered: an entry for each MemoryAdded.
CREATE TABLE NAME (
    id        INTEGER PRIMARY KEY, -- its unit's id and its place in it: the order of the log
    run       TEXT NOT NULL,
    n         INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    loop      INTEGER NOT NULL,
    iteration INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    scope     TEXT NOT NULL,
    task      TEXT NOT NULL,
    source    TEXT NOT NULL,
    time      INTEGER NOT NULL, -- nanoseconds since 1970
    text      TEXT NOT NULL,
    failed    INTEGER NOT NULL,
    forgotten INTEGER NOT NULL,
    learning  INTEGER NOT NULL,
    sum       INTEGER NOT NULL  -- CRC-32C over everything but failed and forgotten
);
CREATE INDEX NAME_runs ON NAME (run, n);

-- The words of the texts, which are kept above.
CREATE VIRTUAL TABLE NAME_words USING fts5 (
    text, content = 'NAME', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 0'
);

-- One row as long as the tables above hold all that the units say.
CREATE TABLE NAME_state (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL, -- of this file and of what is made of events
    entries INTEGER NOT NULL
);
