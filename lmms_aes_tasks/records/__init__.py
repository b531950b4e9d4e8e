"""Records of a benchmark: schema, reading, checking, and the canonical Parquet file they are written to.

What a record of one benchmark must hold is said by a `RecordSchema` in that benchmark's folder; nothing here knows any
benchmark.
"""

from __future__ import annotations

from lmms_aes_tasks.records.files import (
    RECORD_SUFFIXES,
    existing_file,
    kind_of,
    records_file,
    visible_files,
)
from lmms_aes_tasks.records.images import (
    image_bytes,
)
from lmms_aes_tasks.records.importing import (
    OTHER_PROFILE,
    Import,
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
    RecordStream,
    as_list,
    file_stream,
    read_records,
)
from lmms_aes_tasks.records.schema import (
    IMAGES_COLUMN,
    MAX_GROUP_CHARS,
    MAX_ID_CHARS,
    Field,
    FieldMap,
    RecordSchema,
    SourceError,
    group_problems,
    id_problems,
    map_fields,
)
from lmms_aes_tasks.records.tables import (
    table_rows,
)

__all__ = [
    "IMAGES_COLUMN",
    "MAX_GROUP_CHARS",
    "MAX_ID_CHARS",
    "OTHER_PROFILE",
    "RECORD_SUFFIXES",
    "Field",
    "FieldMap",
    "Import",
    "RecordSchema",
    "RecordStream",
    "SourceError",
    "as_list",
    "canonical_rows",
    "check_records",
    "existing_file",
    "features_of",
    "file_stream",
    "group_problems",
    "id_problems",
    "image_bytes",
    "import_file",
    "import_records",
    "is_canonical",
    "kind_of",
    "map_fields",
    "read_labels",
    "read_records",
    "records_file",
    "schema_fingerprint",
    "table_rows",
    "visible_files",
]
