"""Operations on objects, as kube-apiserver's registries do them: create, update, patch, delete, list, bind, evict.

All functions are synchronous, so that no other request changes the store during an operation. They do not use HTTP.
"""
