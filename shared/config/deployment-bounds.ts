/** How long what stands in the configuration may be, so that what is made of it fits into AWS; a test holds it against the quotas. */

/** Function names, rules and roles begin with it; the name of a role has 64 characters, of which the region takes up to 18. */
export const NAME_CHARACTERS_MAX = 31;

/** `<name>-poll-<account>` (EventBridge Scheduler API Reference, "CreateSchedule"). */
export const SCHEDULE_NAME_CHARACTERS_MAX = 64;

/** The policies of a role have 10,240 characters together, and name up to 30 secrets beside 30 accounts. */
export const SECRET_ARN_CHARACTERS_MAX = 140;

/** Three addresses and two audiences stand in the 4,096 bytes of a function's environment, and one in each alarm's description. */
export const URL_CHARACTERS_MAX = 500;

/** Each is a subscription to two topics, and so two resources of the 500 in a template. */
export const EMAILS_MAX = 50;

/** AWS takes 50 on a resource. They are repeated on some 200 resources, and the template has 1 MB for everything. */
export const TAGS_MAX = 20;

/** Keys and values of all tags together, for the same reason. */
export const TAG_CHARACTERS_MAX = 1_000;

/** In all accounts together: they stand in the payloads of the schedules, and so in the template. */
export const POLLED_PROJECTS_MAX = 1_500;

/** The upstream's own ids have some thirty characters. */
export const PROJECT_ID_CHARACTERS_MAX = 63;
