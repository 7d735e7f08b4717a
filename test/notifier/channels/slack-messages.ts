/** Behaves like the two calls of Slack's Web API that a bot makes: it keeps the messages of a channel, and can lose answers. */

interface SlackBody {
  readonly ts?: string;
  readonly thread_ts?: string;
  readonly attachments?: readonly { readonly blocks?: readonly object[] }[];
}

interface Kept {
  readonly ts: string;
  readonly thread_ts: string | undefined;
  body: SlackBody;
  editCount: number;
}

export function createSlackMessages() {
  const kept: Kept[] = [];
  const slack = {
    /** The next answers are lost after Slack has done what was asked. */
    lostAnswers: 0,
    /** Slack answers each edit with this error. */
    editError: undefined as string | undefined,
    /** These are the messages that people see in the channel itself. */
    inChannel: () => kept.filter(({ thread_ts }) => thread_ts === undefined),
    inThread: (ts: string) => kept.filter(({ thread_ts }) => thread_ts === ts),
    async fetch(url: unknown, init?: RequestInit): Promise<Response> {
      const body = JSON.parse(init?.body as string) as SlackBody;
      const answer = String(url).endsWith('/chat.update') ? update(body) : post(body);
      if (slack.lostAnswers > 0) {
        slack.lostAnswers -= 1;
        throw new TypeError('the connection broke');
      }
      return Response.json({ channel: 'C0123456789', ...answer });
    },
  };

  function post(body: SlackBody) {
    const ts = `1737061324.${String(kept.length).padStart(6, '0')}`;
    kept.push({ ts, thread_ts: body.thread_ts, body, editCount: 0 });
    return { ok: true, ts };
  }

  function update(body: SlackBody) {
    const found = kept.find(({ ts }) => ts === body.ts);
    if (found === undefined) return { ok: false, error: 'message_not_found' };
    if (slack.editError !== undefined) return { ok: false, error: slack.editError };
    found.body = body;
    found.editCount += 1;
    return { ok: true, ts: found.ts };
  }

  return slack;
}
