/** What must hold after every schedule. Each check returns what it found wrong, one line each. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  DevelopmentToolEvent,
  EXTENSION_URI,
  hasEnded,
  isAwaitingAnswer,
  readStatus,
  type ConfirmationRequest,
  type EventSource,
  type ToolCall,
} from '../../../src/protocol/development-tool/index.ts';
import { yesOrNo } from '../../../src/bridge/index.ts';
import { textOf } from '../../../src/protocol/index.ts';
import { MODEL, type MadeCall, type ModelRequest } from './model.ts';
import { APPROVERS } from './people.ts';
import type { Played } from './play.ts';

/** A question about a call, and the answer that counted. */
interface Asked {
  readonly call: ToolCall;
  readonly request: ConfirmationRequest;
  answer?: {
    readonly approved: boolean;
    readonly by: string;
    readonly reason?: string | undefined;
    readonly content?: string | undefined;
  };
}

interface CallLife {
  readonly updates: ToolCall[];
  readonly taskId: string;
  readonly asked: Asked[];
}

/** The logs, as far as the checks need them. */
interface Reading {
  readonly lives: ReadonlyMap<string, CallLife>;
  readonly prompts: readonly string[];
  /** What the agent said, whole words only. */
  readonly said: string;
}

function read({ log }: Played): Reading {
  const lives = new Map<string, CallLife>();
  const prompts: string[] = [];
  let said = '';
  let waits = false;
  for (const { taskId, event } of log) {
    if (event.kind !== 'status-update') continue;
    const { facts } = readStatus(event);
    const answers = facts.some(({ kind }) => kind === 'answer');
    const open = () =>
      [...lives.values()].flatMap(({ asked }) => asked.filter((each) => !each.answer));
    for (const fact of facts) {
      if (fact.kind === 'text') said += fact.text;
      if (fact.kind === 'call') {
        const { call } = fact;
        const life = lives.get(call.tool_call_id) ?? { updates: [], taskId, asked: [] };
        lives.set(call.tool_call_id, life);
        life.updates.push(call);
        if (isAwaitingAnswer(call)) life.asked.push({ call, request: call.confirmation_request! });
      } else if (fact.kind === 'answer') {
        const {
          tool_call_id,
          selected_option_id: option,
          reason,
          file_details,
        } = fact.confirmation;
        const question = open().find(({ call }) => call.tool_call_id === tool_call_id);
        if (!question) continue;
        question.answer = {
          approved: option !== 'cancel',
          by: nameOf(fact.source),
          reason,
          content: file_details?.new_content,
        };
      } else if (fact.kind === 'prompt') {
        const words = textOf([...fact.parts]);
        prompts.push(words);
        if (answers || !waits) continue;
        const yes = yesOrNo(words);
        for (const question of open()) {
          const isConfirmation = question.request.options.some(({ id }) => id === 'proceed_once');
          const approved = !isConfirmation || yes === true;
          const reason = isConfirmation && yes !== undefined ? undefined : words;
          question.answer = { approved, by: nameOf(fact.source), reason };
        }
      }
    }
    waits = event.status.state === 'input-required';
    if (/^(completed|failed|canceled)$/.test(event.status.state)) said += '\n';
  }
  return { lives, prompts, said };
}

function nameOf(source: EventSource | undefined): string {
  return source ? (source.name ?? source.client) : 'nobody';
}

type Check = (played: Played, reading: Reading) => string[];

/** Every call ends once, and does not go back. */
const lives: Check = (_played, { lives: all }) =>
  [...all].flatMap(([id, { updates }]) => {
    const statuses = updates.map(({ status }) => status);
    const line = `${id} ${updates[0]?.tool_name}: ${statuses.join(' ')}`;
    const ends = updates.filter(hasEnded).length;
    const back = statuses.some(
      (status, at) => status === 'PENDING' && statuses[at - 1] === 'EXECUTING',
    );
    const problems: string[] = [];
    if (ends !== 1) problems.push(`${line}: ends ${ends} times`);
    if (ends > 0 && !hasEnded(updates.at(-1)!)) problems.push(`${line}: goes on after its end`);
    if (back) problems.push(`${line}: goes back`);
    return problems;
  });

/** Every status update says what it is, and which model is in use. */
const metadata: Check = ({ log }) =>
  log.flatMap(({ seq, event }) => {
    if (event.kind !== 'status-update') return [];
    const about = DevelopmentToolEvent.safeParse(event.metadata?.[EXTENSION_URI]);
    const line = `${event.status.state} event ${seq}`;
    if (!about.success) return [`${line}: has no metadata`];
    return about.data.model === MODEL ? [] : [`${line}: has the model ${about.data.model}`];
  });

/** Each request has each call right before its responses, all of them, in the order of the calls. */
const wellFormed: Check = ({ model }) =>
  model.requests.flatMap(({ response, messages }) =>
    messages.flatMap(({ tool_calls = [] }, at) => {
      const ids = tool_calls.map(({ id }) => id);
      const heard = messages.slice(at + 1, at + 1 + ids.length).map((each) => each.tool_call_id);
      const same = ids.length === heard.length && ids.every((id, index) => id === heard[index]);
      return same
        ? []
        : [`request ${response}: ${ids.join(' ')} is answered by ${heard.join(' ')}`];
    }),
  );

/** Each request knows every call of the responses before it, and what became of it. */
const outcomes: Check = ({ model }, { lives: all }) =>
  model.requests
    .filter(({ helper }) => !helper)
    .flatMap((request) =>
      model.calls
        .filter(({ helper, response }) => !helper && response < request.response)
        .flatMap((made) => {
          const life = all.get(made.id);
          if (!life) return [];
          const problem = outcomeProblem(request, made, life);
          return problem === undefined
            ? []
            : [`request ${request.response}: ${made.id} ${problem}`];
        }),
    );

function outcomeProblem(
  { messages }: ModelRequest,
  { id, kind }: MadeCall,
  { updates, asked }: CallLife,
): string | undefined {
  const heard = messages.find(({ tool_call_id }) => tool_call_id === id)?.content;
  if (heard === undefined) return `(${kind}) is not mentioned`;
  const last = updates.at(-1)!;
  const own = asked.filter(({ call }) => call.agent === undefined);
  const reason = own.find(({ answer }) => answer?.approved === false)?.answer?.reason;
  if (reason !== undefined && !heard.includes(reason))
    return `misses the reason ${reason}: ${heard}`;
  const words = asked.find(({ answer }) => answer?.approved === true)?.answer?.reason;
  if (
    words !== undefined &&
    kind === 'ask' &&
    last.status === 'SUCCEEDED' &&
    !heard.includes(words)
  ) {
    return `misses the answer ${words}: ${heard}`;
  }
  if (last.status === 'SUCCEEDED') {
    return /declined|stopped by the user|outcome unknown/.test(heard)
      ? `succeeded: ${heard}`
      : undefined;
  }
  if (last.status === 'CANCELLED') {
    return /declined|stopped|cancell?ed|did not answer|no answer/.test(heard)
      ? undefined
      : `was cancelled: ${heard}`;
  }
  return heard === '' ? 'failed without a word' : undefined;
}

/** The last request has what people and the agent said. A helper hears the answers to its own questions. */
const words: Check = ({ model, cutOff }, { prompts, said }) => {
  const textIn = (requests: readonly ModelRequest[]) =>
    requests.flatMap(({ messages }) => messages.map(({ content }) => content)).join('\n');
  const own = model.requests.filter(({ helper }) => !helper);
  const last = textIn(own.slice(-1));
  const all = textIn(model.requests);
  const spoken = new Set(own.slice(0, -1).map(({ response }) => `${response}`));
  for (const number of cutOff) spoken.delete(`${number}`);
  const tokens = [...said.matchAll(/said-(\d+)-\d(?= )/g)]
    .filter(([, number = '']) => spoken.has(number))
    .map(([token]) => token);
  const unknown = (text: string) => {
    if (/^(yes|no)$/.test(text)) return false;
    return !(/^(prompt|said-)/.test(text) ? last : all).includes(text);
  };
  return [...prompts, ...tokens].filter(unknown).map((text) => `the model does not know "${text}"`);
};

/** What each call has left behind, by its number. */
interface Effects {
  /** The lines of the journal: `NUMBER` when a command starts, `NUMBER.end` when it ends. */
  readonly lines: readonly {
    readonly name: string;
    readonly files: string[];
    readonly edits: string[];
  }[];
  readonly edits: readonly string[];
  file(number: number): { readonly content: string; readonly time: bigint } | undefined;
}

function effectsIn({ workspace }: Played): Effects {
  const path = (name: string) => join(workspace, name);
  const journal = existsSync(path('journal.txt')) ? readFileSync(path('journal.txt'), 'utf8') : '';
  return {
    lines: [...journal.matchAll(/^(\S+) files=(.*) edits=(.*)$/gm)].map(
      ([, name = '', files = '', edits = '']) => ({
        name,
        files: files.split(' '),
        edits: edits.split(','),
      }),
    ),
    edits: readFileSync(path('edits.txt'), 'utf8').split('\n'),
    file(number) {
      const file = path(`w-${number}.txt`);
      if (!existsSync(file)) return undefined;
      return {
        content: readFileSync(file, 'utf8'),
        time: statSync(file, { bigint: true }).mtimeNs,
      };
    },
  };
}

function happened({ kind, number }: MadeCall, effects: Effects): boolean {
  if (kind === 'write') return effects.file(number) !== undefined;
  if (kind === 'edit') return effects.edits.includes(`${number}`);
  return effects.lines.some(({ name }) => name === `${number}`);
}

/** What happened was shown to somebody who may approve it and did, or the mode allowed it. Nothing happened twice. */
const consent: Check = (played, { lives: all }) => {
  const effects = effectsIn(played);
  const asked = [...all.values()].flatMap((life) => life.asked);
  const problems = asked.flatMap(({ call, answer }) =>
    answer && !APPROVERS.includes(answer.by)
      ? [`${call.tool_call_id}: answered by ${answer.by}`]
      : [],
  );
  for (const made of played.model.calls) {
    const { number, kind, id } = made;
    const times = effects.lines.filter(({ name }) => name === `${number}`).length;
    if (times > 1) problems.push(`${id} ${kind}: happened ${times} times`);
    if (!happened(made, effects)) {
      const end = all.get(id)?.updates.at(-1);
      const expected =
        ['write', 'edit', 'shell', 'mcp'].includes(kind) && end?.status === 'SUCCEEDED';
      const modified = asked.some(
        ({ call, answer }) => call.tool_call_id === id && answer?.content !== undefined,
      );
      if (expected && !modified) problems.push(`${id} ${kind}: succeeded, and nothing happened`);
      continue;
    }
    const about = asked.filter(({ call, request }) => isAbout(made, call, request));
    const approval = about.find(({ answer }) => answer?.approved === true)?.answer;
    if (!approval && (about.length > 0 || !allowedBy(played.approval, kind))) {
      problems.push(`${id} ${kind}: happened, and was not approved (asked ${about.length} times)`);
    }
    if (kind !== 'write') continue;
    const shown = approval?.content ?? `content ${number}\n`;
    const { content } = effects.file(number)!;
    if (content !== shown) problems.push(`${id}: wrote ${content} and showed ${shown}`);
  }
  return problems;
};

function allowedBy(approval: string, kind: MadeCall['kind']): boolean {
  return approval === 'auto-edit' && (kind === 'write' || kind === 'edit');
}

/** Whether this question shows just what this call does. */
function isAbout(made: MadeCall, call: ToolCall, request: ConfirmationRequest): boolean {
  const { kind, number, args } = made;
  const { execute_details: execute, file_edit_details: edit, mcp_details: mcp } = request;
  if (kind === 'mcp') return mcp !== undefined && call.input_parameters['number'] === number;
  if (kind === 'write') return edit?.file_name === `w-${number}.txt`;
  if (kind === 'edit') return edit?.new_content.split('\n').includes(`${number}`) === true;
  return execute?.command === args['command'];
}

/** What one response writes and runs happens in its order. */
const order: Check = (played) => {
  const effects = effectsIn(played);
  const { calls } = played.model;
  /** The call of the main agent: what a helper does is part of its `task`. */
  const whole = (made: MadeCall) => (made.parent === undefined ? made : calls[made.parent - 1]!);
  const done = calls.filter((made) => happened(made, effects));
  const follows = (first: MadeCall, second: MadeCall) =>
    whole(first) === whole(second)
      ? first.response === second.response && first.number < second.number
      : whole(first).response === whole(second).response &&
        whole(first).number < whole(second).number;
  return done.flatMap((first) =>
    done
      .filter((second) => follows(first, second) && !inOrder(first, second, effects))
      .map((second) => `${first.id} ${first.kind} was not over before ${second.id} ${second.kind}`),
  );
};

function inOrder(first: MadeCall, second: MadeCall, effects: Effects): boolean {
  const at = (name: string) => effects.lines.findIndex((line) => line.name === name);
  const isFile = (made: MadeCall) => made.kind === 'write' || made.kind === 'edit';
  const sees = (line: Effects['lines'][number] | undefined, made: MadeCall) =>
    made.kind === 'write'
      ? line?.files.includes(`w-${made.number}.txt`) === true
      : line?.edits.includes(`${made.number}`) === true;
  if (isFile(first) && !isFile(second)) return sees(effects.lines[at(`${second.number}`)], first);
  if (!isFile(first)) {
    const end = at(`${first.number}.end`);
    // It was stopped before its end.
    if (end < 0) return true;
    return isFile(second) ? !sees(effects.lines[end], second) : at(`${second.number}`) > end;
  }
  if (first.kind === 'edit' && second.kind === 'edit') {
    return effects.edits.indexOf(`${first.number}`) < effects.edits.indexOf(`${second.number}`);
  }
  if (first.kind !== 'write' || second.kind !== 'write') return true;
  return effects.file(first.number)!.time <= effects.file(second.number)!.time;
}

/** Nobody did what they may not. */
const attempts: Check = ({ violations }) => [...violations];

const CHECKS: Readonly<Record<string, Check>> = {
  lives,
  metadata,
  wellFormed,
  outcomes,
  words,
  consent,
  order,
  attempts,
};

/** Everything that a schedule shows to be wrong, one line each. */
export function problemsIn(played: Played): string[] {
  const reading = read(played);
  return Object.entries(CHECKS).flatMap(([name, check]) =>
    check(played, reading).map((line) => `${name}: ${line}`),
  );
}
