/** Secrets in answers: wrapped as soon as they are parsed. */

import * as z from 'zod';
import { createSecret, type Secret } from '../../runtime/secret.ts';

export const secret = z.string().transform((text): Secret => createSecret(text));
