-- +goose Up

-- From here on a file has a memory, a projection of units whose tables are no
-- part of the schema: when they are missing, damaged or of another version, others
-- are made from units (see memory.go). An older Pawl must not append, though: what
-- its units say would be missing there.
PRAGMA user_version = 2;
