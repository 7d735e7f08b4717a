/** Names the style and the script by their content, so that browsers may keep them for ever. */

import { createHash } from 'node:crypto';
import { SCRIPT } from './script.ts';
import { STYLE } from './style.ts';

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12);

export const STYLE_PATH = `/console/assets/style-${hashOf(STYLE)}.css`;
export const SCRIPT_PATH = `/console/assets/script-${hashOf(SCRIPT)}.js`;

/**
 * Every page has this Content-Security-Policy: it allows only own files, nothing inline, no frames, and forms only to
 * this origin.
 */
export const CONSOLE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');
