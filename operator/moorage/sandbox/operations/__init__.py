"""Operations on objects, as kube-apiserver's registries do them: create, update, patch, delete, list, bind, evict.

Synchronous, so that each request sees and leaves a consistent store. Knows no HTTP.
"""
