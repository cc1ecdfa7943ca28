"""Every parser of stored bytes against bytes that mean harm, guided by the code that they reach; `make parsers`."""
