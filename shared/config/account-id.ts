/** Says what an account may be called. */

/** The id is the name of a member in answers and files, so it must not be one that every object has already. */
export const ACCOUNT_ID_PATTERN = /^(?!constructor$)[a-z0-9][a-z0-9-]{0,62}$/;
