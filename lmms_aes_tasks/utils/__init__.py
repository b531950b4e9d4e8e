"""The science of the suite: no lmms-eval, no network, nothing of ours from outside this folder.

All of it is pure functions but `wordnet`, which puts a corpus into a folder, and `vector_store`, a file of vectors.
"""
