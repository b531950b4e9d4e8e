"""Records of a benchmark: schema, reading, checking, and the canonical Parquet file they are written to.

What a record of one benchmark must hold is said by a `RecordSchema` in that benchmark's folder; nothing here knows any
benchmark.
"""

from __future__ import annotations

from lmms_aes_tasks.records.importing import (
    Import,
    atomic_path,
    canonical_rows,
    check_records,
    features_of,
    import_file,
    import_records,
    is_canonical,
    read_labels,
    schema_fingerprint,
)
from lmms_aes_tasks.records.reading import (
    RECORD_SUFFIXES,
    RecordStream,
    as_list,
    file_stream,
    image_bytes,
    read_records,
    records_file,
)
from lmms_aes_tasks.records.schema import (
    IMAGES_COLUMN,
    Field,
    FieldMap,
    RecordSchema,
    SourceError,
    bulleted,
    map_fields,
)

__all__ = [
    "IMAGES_COLUMN",
    "RECORD_SUFFIXES",
    "Field",
    "FieldMap",
    "Import",
    "RecordSchema",
    "RecordStream",
    "SourceError",
    "as_list",
    "atomic_path",
    "bulleted",
    "canonical_rows",
    "check_records",
    "features_of",
    "file_stream",
    "image_bytes",
    "import_file",
    "import_records",
    "is_canonical",
    "map_fields",
    "read_labels",
    "read_records",
    "records_file",
    "schema_fingerprint",
]
