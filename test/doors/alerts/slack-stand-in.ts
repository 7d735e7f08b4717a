/**
 * Behaves like Slack towards a bot and towards an incoming webhook: it keeps the messages of a channel, refuses what the
 * reference of Block Kit refuses, and knows which of the messages ring.
 */

export const WEBHOOK_URL = 'https://hooks.slack.com/services/T00000000/B00000000/a-webhook-secret';
export const BOT = {
  token: 'xoxb-0000000000-a-bot-secret',
  channel: 'C0123456789',
  signing_secret: 'a5160123456789abcdef0123456789ab',
};

interface Text {
  readonly type: string;
  readonly text: string;
}

export interface Block {
  readonly type: string;
  readonly text?: Text;
  readonly fields?: readonly Text[];
  readonly elements?: readonly {
    readonly type: string;
    readonly text?: string | Text;
    readonly action_id?: string;
    readonly value?: string;
    readonly url?: string;
  }[];
}

export interface SlackBody {
  readonly channel?: string;
  readonly ts?: string;
  readonly thread_ts?: string;
  readonly reply_broadcast?: boolean;
  readonly text?: string;
  readonly attachments?: readonly { readonly color?: string; readonly blocks?: readonly Block[] }[];
}

interface Kept {
  readonly number: number;
  readonly ts: string;
  readonly threadTs: string | undefined;
  body: SlackBody;
}

/** What Slack did with a request. A message that was not taken has a fault instead of a number. */
export interface SlackDone {
  readonly call: 'post' | 'reply' | 'broadcast' | 'edit';
  readonly body: SlackBody;
  /** Messages are numbered as they come in. A reply names the message that it answers. */
  readonly number?: number;
  readonly fault?: string;
  readonly response: Response;
}

/** Slack truncates messages and refuses longer ones by their blocks; some 13,000 characters were seen to pass. */
const CHARACTERS_MAX = 13_000;

export function createSlack() {
  const kept: Kept[] = [];
  let editFault: string | undefined;

  function byWebhook(body: SlackBody): SlackDone {
    const fault = faultOf(body);
    if (fault !== undefined)
      return { call: 'post', body, fault, response: new Response(fault, { status: 400 }) };
    return { call: 'post', body, number: keep(body), response: new Response('ok') };
  }

  function keep(body: SlackBody): number {
    const number = kept.length + 1;
    const ts = `1768478400.${String(number).padStart(6, '0')}`;
    kept.push({ number, ts, threadTs: body.thread_ts, body });
    return number;
  }

  function byBot(method: string, token: string | null, body: SlackBody): SlackDone {
    const call = method === 'chat.update' ? 'edit' : callOf(body);
    const refuse = (fault: string): SlackDone => ({
      call,
      body,
      fault,
      response: Response.json({ ok: false, error: fault }),
    });
    if (token !== `Bearer ${BOT.token}`) return refuse('invalid_auth');
    if (body.channel !== BOT.channel) return refuse('channel_not_found');
    const fault = faultOf(body);
    if (fault !== undefined) return refuse(fault);
    if (call === 'edit') {
      const found = kept.find(({ ts }) => ts === body.ts);
      if (found === undefined) return refuse('message_not_found');
      if (editFault !== undefined) return refuse(editFault);
      found.body = body;
      return { call, body, number: found.number, response: Response.json({ ok: true, ts: found.ts }) };
    }
    const number = keep(body);
    const { ts } = kept[number - 1] ?? {};
    const parent = kept.find((one) => one.ts === body.thread_ts);
    const response = Response.json({ ok: true, ts, channel: BOT.channel });
    return { call, body, number: parent?.number ?? number, response };
  }

  return {
    /** The message with this number as people see it now. */
    message: (number: number) => kept[number - 1],
    /** Slack answers each edit with this error. */
    refuseEdits(fault: string): void {
      editFault = fault;
    },
    /** A person deletes the message. */
    remove(number: number): void {
      const place = kept.findIndex((one) => one.number === number);
      const found = kept[place];
      if (found !== undefined) kept[place] = { ...found, ts: 'deleted' };
    },
    take(url: URL, init: RequestInit | undefined): SlackDone {
      const body = JSON.parse(init?.body as string) as SlackBody;
      if (url.href === WEBHOOK_URL) return byWebhook(body);
      if (url.origin === 'https://slack.com' && url.pathname.startsWith('/api/chat.'))
        return byBot(url.pathname.slice(5), new Headers(init?.headers).get('authorization'), body);
      const response = new Response('no_service', { status: 404 });
      return { call: 'post', body, fault: 'no_service', response };
    },
  };
}

function callOf({ thread_ts, reply_broadcast }: SlackBody): 'post' | 'reply' | 'broadcast' {
  if (thread_ts === undefined) return 'post';
  return reply_broadcast === true ? 'broadcast' : 'reply';
}

/** Returns the error by which Slack refuses the message, and undefined when it takes it (Block Kit reference). */
function faultOf({ text = '', attachments = [] }: SlackBody): string | undefined {
  const blocks = attachments.flatMap((one) => one.blocks ?? []);
  if (text === '' && blocks.length === 0) return 'no_text';
  if (attachments.length > 100) return 'invalid_attachments';
  if (blocks.length > 50 || blocks.some((block) => !fits(block))) return 'invalid_blocks';
  const characters = blocks.flatMap(textsOf).reduce((sum, one) => sum + one.length, 0);
  if (characters > CHARACTERS_MAX) return 'msg_blocks_too_long';
  return text.length > 40_000 ? 'msg_too_long' : undefined;
}

function fits(block: Block): boolean {
  const { type, text, fields = [], elements = [] } = block;
  const isText = (one: Text | undefined, max: number) =>
    one !== undefined && one.text.length > 0 && one.text.length <= max;
  switch (type) {
    case 'header':
      return text?.type === 'plain_text' && isText(text, 150);
    case 'section':
      return (
        (text !== undefined || fields.length > 0) &&
        (text === undefined || isText(text, 3_000)) &&
        fields.length <= 10 &&
        fields.every((field) => isText(field, 2_000))
      );
    case 'context':
      return elements.length > 0 && elements.length <= 10;
    case 'actions':
      return (
        elements.length > 0 &&
        elements.length <= 25 &&
        elements.every(({ value = '', url = '' }) => value.length <= 2_000 && url.length <= 3_000)
      );
    default:
      return false;
  }
}

/** Returns the texts of a block in the order in which people read them. */
export function textsOf({ text, fields = [], elements = [] }: Block): readonly string[] {
  const ofElements = elements.map((one) =>
    typeof one.text === 'string' ? one.text : (one.text?.text ?? ''),
  );
  return [...(text === undefined ? [] : [text.text]), ...fields.map((field) => field.text), ...ofElements];
}
