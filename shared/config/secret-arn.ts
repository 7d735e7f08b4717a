/** Defines the ARN of a secret, as the configuration of a bridge takes it. */

import * as z from 'zod';

/** The policies of a role have 10,240 characters together, and name up to 30 secrets beside 30 accounts. */
export const SECRET_ARN_CHARACTERS_MAX = 140;

/** The ARN must be complete, with its random suffix: a role gets exactly this secret and no other. */
export const secretArn = z
  .string()
  .regex(/^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@-]+-[A-Za-z0-9]{6}$/, {
    error: 'must be the complete ARN of a secret, with its six-character suffix',
  })
  .max(SECRET_ARN_CHARACTERS_MAX);
