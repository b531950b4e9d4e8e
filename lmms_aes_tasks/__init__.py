"""Visual-aesthetics benchmarks as a plugin for lmms-eval."""

from lmms_aes_tasks.plugin import register_on_import as _register_on_import

__version__ = "0.1.0"

_register_on_import()
