/**
 * A Lambda function between a state machine and the bridge: it sends one command, which waits in line if it must, and names the task
 * that waits for the end. An error fails the task at once. A state that is tried again has another task token and the same
 * key, so the command is carried out once, and each task gets its end.
 */
export async function handler({ method, path, body, key, task_token }) {
  const { OPERATIONS_BRIDGE_URL, OPERATIONS_BRIDGE_TOKEN } = process.env;
  const response = await fetch(`${OPERATIONS_BRIDGE_URL}/api/v2${path}`, {
    method,
    headers: {
      authorization: `Bearer ${OPERATIONS_BRIDGE_TOKEN}`,
      'content-type': 'application/json',
      prefer: 'respond-async',
      'idempotency-key': key,
      'bridge-callback': `sfn:${task_token}`,
    },
    body: body && JSON.stringify(body),
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`The bridge answered ${response.status}: ${answer}`);
}
