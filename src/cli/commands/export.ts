/** `parley export`: prints a whole session as Markdown or JSON. */
import type { ContentPart, Event, Session } from '../../agent/index.ts';
import { APP, approvalLine, approvalsIn, type Approval } from '../../coder/index.ts';
import { defineCommand } from '../program/command.ts';
import { choice } from '../program/flags.ts';
import {
  LOCAL_USER,
  SESSION_FLAGS,
  sessionOf,
  storedSessions,
  workspaceOf,
} from '../coder/stored-sessions.ts';
import { jsonText, say, shown } from '../program/terminal.ts';

/** Maximum length of a tool result in Markdown. The JSON output contains the complete results. */
const MAX_RESPONSE = 4000;
/** The titles of authors that are not shown by their names. */
const TITLES = new Map([
  ['user', 'You'],
  [APP, 'Parley'],
]);

export default defineCommand({
  operands: ['SESSION'],
  about:
    'Prints a whole session, including who approved which call. parley sessions lists the sessions.',
  flags: {
    output: choice(
      'FORMAT',
      ['markdown', 'json'],
      'markdown (the default), in which long results of tools are cut, or json.',
    ),
    ...SESSION_FLAGS,
  },
  examples: [
    'parley export 0197f0c5-… > session.md',
    'parley export 0197f0c5-… --output json | jq .events',
    'parley export 0197f0c5-… --output json | jq .approvals',
  ],

  async run({ values, operands: [id = ''], environment }) {
    const store = await storedSessions(values, environment);
    try {
      const session = await sessionOf(store, values.user ?? LOCAL_USER, id);
      const approvals = approvalsIn(session.events);
      const text =
        values.output === 'json'
          ? jsonText({ ...session, approvals }, 2)
          : shown(markdown(session, approvals));
      say(text);
    } finally {
      await store?.close();
    }
  },
});

function markdown(session: Session, approvals: readonly Approval[]): string {
  const workspace = workspaceOf(session);
  const head = [
    `# Session ${session.id}`,
    `${new Date(session.createdAt).toISOString()}${workspace === undefined ? '' : `, in \`${workspace}\``}`,
  ];
  let author = '';
  const blocks: string[] = [];
  for (const event of session.events) {
    const said = textOfEvent(event);
    if (said === '') continue;
    if (event.author !== author) {
      author = event.author;
      blocks.push(`## ${TITLES.get(author) ?? author}`);
    }
    blocks.push(said);
  }
  if (approvals.length > 0) {
    head.push('## Approvals', fenced(approvals.map(approvalLine).join('\n')));
  }
  return [...head, ...blocks].join('\n\n');
}

function textOfEvent({ content, error, actions }: Event): string {
  const parts = (content?.parts ?? []).map(partText);
  const answers = (actions.answers ?? []).map(({ confirmed }) =>
    confirmed === undefined ? '' : confirmed ? '*Approved.*' : '*Declined.*',
  );
  const problem = error === undefined ? '' : `*Failed: ${error.message}*`;
  return [...parts, ...answers, problem].filter((text) => text !== '').join('\n\n');
}

function partText(part: ContentPart): string {
  switch (part.kind) {
    case 'text':
      return part.text.trim();
    case 'function-call':
      return `**${part.name}**\n\n${fenced(JSON.stringify(part.args, null, 2), 'json')}`;
    case 'function-response': {
      const { response, isError } = part;
      const text = typeof response === 'string' ? response : JSON.stringify(response, null, 2);
      const cut = text.length > MAX_RESPONSE ? `${text.slice(0, MAX_RESPONSE)}\n…` : text;
      return `${isError === true ? '*Failed:*\n\n' : ''}${fenced(cut)}`;
    }
    case 'data':
      return fenced(JSON.stringify(part.data, null, 2), 'json');
    case 'blob':
      return `*[${part.name ?? 'file'}, ${part.mediaType}]*`;
    case 'file':
      return `*[${part.name ?? part.uri}]*`;
    default:
      return '';
  }
}

/** Returns a code block whose fence is longer than every fence in the text. */
function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}
