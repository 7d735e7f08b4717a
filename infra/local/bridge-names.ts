/** Holds the names by which the parts of a local run find each other. */

export const TABLE_NAME = 'operations-bridge';
export const EVENT_BUS_NAME = 'operations-bridge';
export const ACCOUNT_ID = 'main';
export const KEY_SECRET_ID = 'operations-bridge/upstream-key';
export const PEPPER_SECRET_ID = 'operations-bridge/token-pepper';
export const COMMANDS_QUEUE_NAME = 'operations-bridge-commands.fifo';
