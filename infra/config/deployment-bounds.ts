/**
 * Bounds the values of the configuration, so that what is made of them fits into AWS. A test holds them against the
 * quotas.
 */

/** Names of functions, rules and roles begin with it. A role's name has 64 characters, of which the region takes up to 18. */
export const NAME_CHARACTERS_MAX = 31;

/** Three addresses and two audiences stand in the 4,096 bytes of a function's environment, and one in each alarm's description. */
export const URL_CHARACTERS_MAX = 500;

/** AWS takes 50 tags on a resource. They are repeated on up to 350 resources, and the template has 1 MB for everything. */
export const TAGS_MAX = 20;

/** The keys and values of all tags together have this bound for the same reason. */
export const TAG_CHARACTERS_MAX = 800;

/** The projects of all accounts together stand in the payloads of the schedules, and so in the template. */
export const POLLED_PROJECTS_MAX = 1_500;

/** The upstream's own ids have some thirty characters. */
export const PROJECT_ID_CHARACTERS_MAX = 63;

/** Each lane has a function and a schedule in the template, which AWS limits to 500 resources. */
export const LANES_MAX = 60;

/** Each of these has a memory of its own, which a person has chosen. */
export const OWN_LANES_MAX = 20;
