"""Empty: what `LMMS_EVAL_PLUGINS=lmms_aes_tasks`, lmms-eval's older way of naming plugins, looks for.

Our YAML folder is task_yamls, which the entry point makes known with and without that variable (plugin.py).
"""
