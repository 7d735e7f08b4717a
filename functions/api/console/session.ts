/** Who is signed in: the id of a token and an end, sealed, in a cookie that only the console's own pages get. */

import { createHmac, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import type { Secret } from '../../../shared/runtime/secret.ts';

export interface Session {
  readonly token_id: string;
  readonly ends_at_ms: number;
}

const sessionSchema = z.strictObject({ token_id: z.string().max(40), ends_at_ms: z.number() });

/** An hour: long enough for an incident, short enough for a laptop that was left open. */
export const SESSION_MS = 3_600_000;

export const COOKIE = 'bridge_session';

export function seal(session: Session, pepper: Secret): string {
  const payload = Buffer.from(JSON.stringify(session)).toString('base64url');
  return `${payload}.${macOf('session', payload, pepper)}`;
}

/** Undefined when it was changed, made up, or is over. */
export function open(sealed: string, pepper: Secret, nowMs: number): Session | undefined {
  const [payload = '', mac = ''] = sealed.split('.');
  if (!isSame(mac, macOf('session', payload, pepper))) return undefined;
  const parsed = sessionSchema.safeParse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
  return parsed.success && nowMs < parsed.data.ends_at_ms ? parsed.data : undefined;
}

/** Stands in every form of the session: another site cannot know it. */
export function formKey(session: Session, pepper: Secret): string {
  return macOf('form', JSON.stringify(session), pepper);
}

export function isFormKey(presented: unknown, session: Session, pepper: Secret): boolean {
  return typeof presented === 'string' && isSame(presented, formKey(session, pepper));
}

/** `SameSite=Strict`: a link from elsewhere opens signed out, and the page asks once more. */
export function cookieHeader(value: string, maxAgeSeconds: number, isHttps: boolean): string {
  const secure = isHttps ? '; Secure' : '';
  return `${COOKIE}=${value}; Path=/console; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
}

export function cookieOf(header: string | undefined): string | undefined {
  return header
    ?.split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(`${COOKIE}=`))
    ?.slice(COOKIE.length + 1);
}

function macOf(purpose: string, text: string, pepper: Secret): string {
  return createHmac('sha256', pepper.reveal()).update(`console ${purpose}\n${text}`).digest('hex');
}

function isSame(a: string, b: string): boolean {
  const [first, second] = [Buffer.from(a), Buffer.from(b)];
  return first.length === second.length && timingSafeEqual(first, second);
}
