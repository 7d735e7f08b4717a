/** Wraps a secret in an answer as soon as it is parsed. */

import * as z from 'zod';
import { createSecret, type Secret } from '../../runtime/secret.ts';

export const secret = z.string().transform((text): Secret => createSecret(text));
