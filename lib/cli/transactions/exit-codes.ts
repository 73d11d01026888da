/** Exit codes of what is done with transactions, besides those of `run`; 123 and below 128 are ours. */

/** There is no transaction of this id. */
export const kNoTransaction = 120;
/** The host has changed the same files: nothing was done. */
export const kConflict = 121;
/** Code of the host's runs by itself what would be changed: nothing was done. */
export const kProtected = 122;
/** Another process has the transaction open. */
export const kInUse = 123;
