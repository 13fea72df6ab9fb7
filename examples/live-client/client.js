/**
 * Joins a live session, using only a WebSocket. Prints the session's events and sends a prompt. With --allow, approves
 * tool calls. docs/live-session.md describes the messages.
 *
 *   npx parley --a2a-port 1234 --model offline
 *   npx node examples/live-client/client.js ws://localhost:1234/ws "create a.txt with hello" --allow
 */
const EXTENSION =
  'https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md';
const [url = 'ws://localhost:1234/ws', prompt, ...flags] = process.argv.slice(2);
const allow = flags.includes('--allow');

const socket = new WebSocket(url, ['a2a']); // with a token: ['a2a', 'token.s3cret']
let lastId = 0;
function send(method, params) {
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params }));
}

socket.addEventListener('message', ({ data }) => {
  const { method, params, error } = JSON.parse(data);
  if (error) console.error(`! ${error.message}`);
  if (method === 'tasks/event') show(params.event);
  if (method !== 'session/snapshot') return;
  console.log(`In ${params.workspace}, with ${params.clients.map(({ name }) => name).join(', ')}.`);
  for (const call of params.pending) showCall(call);
  if (prompt === undefined) return;
  const parts = [{ kind: 'text', text: prompt }];
  const messageId = crypto.randomUUID();
  send('message/send', { message: { kind: 'message', messageId, role: 'user', parts } });
});
socket.addEventListener('close', ({ code, reason }) => console.log(`closed: ${code} ${reason}`));

function show({ status, metadata, final }) {
  const { kind, source } = metadata?.[EXTENSION] ?? {};
  const [part] = status?.message?.parts ?? [];
  if (kind === 'TOOL_CALL_UPDATE') showCall(part.data);
  if (kind === 'TEXT_CONTENT' && source) console.log(`${source.name}> ${part.text}`);
  else if (kind === 'TEXT_CONTENT') process.stdout.write(part.text);
  if (final) console.log(`\n· ${status.state}`);
  if (final && status.state !== 'input-required' && prompt !== undefined) socket.close(1000);
}

function showCall({ tool_call_id, status, description, confirmation_request: request }) {
  console.log(`${request ? '?' : '·'} ${status} ${description}`);
  if (request && allow) {
    send('session/confirm', { tool_call_id, selected_option_id: 'proceed_once' });
  }
}
