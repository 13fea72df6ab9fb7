/**
 * Sends a notification when the agent needs the person, and when a turn has ended. `notify` in the user's settings
 * contains the address: a topic of a server like ntfy, or a webhook that takes JSON. The address is trusted, because it
 * comes from the user's own settings. The settings of a workspace have no effect here.
 */
import { reasonOf } from '../../base/index.ts';
import type { NotifySettings } from '../../coder/settings/index.ts';
import { cleanLine, titleOf, type Attention } from '../../display/index.ts';
import type { ToolCall } from '../../protocol/development-tool/index.ts';
import type { Environment } from '../program/flags.ts';
import type { ServerLog } from '../program/log.ts';

const TIMEOUT_MS = 10_000;
/** Maximum number of notifications in a minute. Further notifications are dropped. */
const MAX_PER_MINUTE = 10;
const MINUTE_MS = 60_000;
const MAX_CHARS = 500;

export interface PosterOptions {
  readonly settings: NotifySettings;
  readonly environment: Environment;
  readonly sessionId: string;
  /** Returns a link with which the person answers the call, if the session is open to other devices. */
  readonly linkFor: (call: ToolCall) => string | undefined;
  readonly log: Pick<ServerLog, 'warn'>;
}

/** Returns a function that sends a notification in the background. It never throws. */
export function createPoster(options: PosterOptions): (attention: Attention) => void {
  const { settings, log } = options;
  const { url, events } = settings;
  if (url === undefined) return () => {};
  const headers = headersOf(options);
  if (!headers) return () => {};
  let recent: number[] = [];
  return (attention) => {
    if (events && !events.includes(attention.kind)) return;
    const now = performance.now();
    recent = recent.filter((time) => now - time < MINUTE_MS);
    if (recent.length >= MAX_PER_MINUTE) {
      log.warn({ event: attention.kind }, 'too many notifications in a minute; one was dropped');
      return;
    }
    recent.push(now);
    post(url, headers, attention, options).catch((error: unknown) => {
      log.warn({ problem: reasonOf(error) }, 'failed to send a notification');
    });
  };
}

async function post(
  url: string,
  own: Readonly<Record<string, string>>,
  attention: Attention,
  options: PosterOptions,
): Promise<void> {
  const { headers, body } = requestFor(attention, options);
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, ...own },
    body,
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the server answered with HTTP ${response.status}`);
}

function requestFor(attention: Attention, { settings, sessionId, linkFor }: PosterOptions) {
  const { title, tags, text: plain } = WORDS[attention.kind];
  const call = attention.kind === 'needs-you' ? attention.call : undefined;
  const text = (call ? callText(call, settings.details === true) : plain).slice(0, MAX_CHARS);
  const link = call && linkFor(call);
  if (settings.format === 'json') {
    const about = { event: attention.kind, title, text, sessionId, time: new Date().toISOString() };
    const more = call && { call: { id: call.tool_call_id, name: call.tool_name } };
    return {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...about, ...more, ...(link !== undefined && { url: link }) }),
    };
  }
  return {
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      title,
      priority: call ? 'high' : 'default',
      tags,
      ...(link !== undefined && { click: link }),
    },
    body: text,
  };
}

/** The texts for each kind of notification. `tags` are the names of emoji that ntfy shows. */
const WORDS = {
  'needs-you': { title: 'Parley needs you', tags: 'raised_hand', text: '' },
  done: { title: 'Parley is done', tags: 'white_check_mark', text: 'The turn is done.' },
  failed: { title: 'Parley failed', tags: 'x', text: 'The turn failed.' },
} as const;

/**
 * Returns the text about a call. Without `details`, the text names only the tool, because intermediate servers may read
 * the text.
 */
function callText(call: ToolCall, details: boolean): string {
  return details ? titleOf(call) : `A call of ${cleanLine(call.tool_name)} waits for your answer.`;
}

/** Returns the headers with their values from environment variables, or undefined if a variable is unset or empty. */
function headersOf({
  settings: { headers = {} },
  environment,
  log,
}: PosterOptions): Record<string, string> | undefined {
  const found: Record<string, string> = {};
  for (const [name, variable] of Object.entries(headers)) {
    const value = environment[variable];
    if (value === undefined || value === '') {
      log.warn(
        { variable },
        'no notifications are sent: set the environment variable that notify.headers names',
      );
      return undefined;
    }
    found[name] = value;
  }
  return found;
}
