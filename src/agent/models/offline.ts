/**
 * A deterministic substitute for a language model. It needs no network and no key. To a request that it does not
 * understand, it answers that it is the offline model, and lists the requests that it understands.
 *
 * It understands a few plain requests (`list`, `read`, `search`, `create`, `replace`, `run`, `fetch`, `remember`,
 * joined by `then`). It also calls other tools if the request is unambiguous. Each request becomes a real tool call,
 * with real approvals. The calls are made one after the other. After the last call, the model reports what was done.
 *
 * The model has no state of its own. It determines its progress from the conversation.
 */
import { type JsonObject, type JsonValue, shorten } from '../../base/index.ts';
import { randomUUIDv7 } from 'node:crypto';
import {
  functionCalls,
  functionResponses,
  contentText,
  type Content,
  type FunctionResponsePart,
} from '../content.ts';
import { CANCELED_REQUEST } from '../canceled-run.ts';
import {
  ModelError,
  type Model,
  type ModelChunk,
  type ModelRequest,
  type ToolDeclaration,
} from '../model.ts';
import { FORMS, parseForm, splitRequests, type Step } from './offline-request.ts';
import { matchTool, usageOf } from './offline-tool.ts';
import { estimateUsage, limited, streamed } from './pieces.ts';

const MAX_REQUEST_CHARS = 20_000;
const MAX_STEPS = 50;
const MAX_GIST_CHARS = 160;
const MAX_SHOWN_CHARS = 4000;
const MAX_USAGES = 20;

const WHAT_I_AM =
  "I am Parley's offline model: a small program that needs no network and no key. I do not think; I understand a few " +
  'plain requests and use the real tools for them.';
/** The error for a request with a schema. The model's answers are plain texts, which cannot match a schema. */
const NO_SCHEMA =
  'the offline model cannot answer with a JSON Schema: choose another model, or ask for JSON without a schema';
const BLIND = 'I cannot see images. Choose a model that can with /model.';
const FOR_A_MODEL =
  'To use a model that can answer any question, set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY.';
const ABOUT_ME =
  /\b(?:who|what)(?:\s+are|['’]re)\s+you\b|\byour name\b|\bare you (?:an? )?(?:ai|bot|human|robot|model|person)\b/i;

/** Returns the model `offline`. `advice` is a text that explains how to get another model. */
export function offlineModel(advice: string = FOR_A_MODEL): Model {
  return {
    name: 'offline',
    async *generate(request, signal): AsyncGenerator<ModelChunk> {
      signal.throwIfAborted();
      if (request.outputSchema !== undefined) throw new ModelError('invalid-request', NO_SCHEMA);
      const next = decide(request, advice);
      if (typeof next === 'string') {
        const whole = hasImage(request) ? `${BLIND}\n\n${next}` : next;
        const said = request.json === true ? JSON.stringify({ answer: whole }) : whole;
        const { text, reason } = limited(said, request);
        yield* streamed('text', text, signal);
        yield { kind: 'finish', reason, usage: estimateUsage(request, text.length) };
        return;
      }
      const { tool: name, args } = next;
      yield { kind: 'function-call', id: `call_${randomUUIDv7()}`, name, args };
      const usage = estimateUsage(request, name.length + JSON.stringify(args).length);
      yield { kind: 'finish', reason: 'tool-calls', usage };
    },
  };
}

/** Returns whether the last message of the user has an image. */
function hasImage({ messages }: ModelRequest): boolean {
  const last = messages.findLast(({ role }) => role === 'user');
  return (last?.parts ?? []).some(
    (part) => part.kind === 'blob' && part.mediaType.startsWith('image/'),
  );
}

/** Returns the next call, or the text of the answer. */
function decide({ messages, tools = [], toolChoice }: ModelRequest, advice: string): Step | string {
  const offered = toolChoice === 'none' ? [] : tools;
  const at = messages.findLastIndex(
    (content) => content.role === 'user' && contentText(content).trim() !== '',
  );
  const { own, all } = wordsOf(messages[at]);
  if (own.length > MAX_REQUEST_CHARS) return `That is too long for me.\n\n${help(offered, advice)}`;
  const plan = planOf(own, offered) ?? planOf(all.slice(0, MAX_REQUEST_CHARS), offered);
  if (!plan) return answer(own, offered, advice);

  const since = messages.slice(at + 1);
  const calls = since.flatMap((content) => functionCalls(content));
  const responses = new Map(since.flatMap(functionResponses).map((each) => [each.id, each]));
  const report: string[] = [];
  let made = 0;
  for (const step of plan) {
    const call = calls.slice(made).find(({ name }) => name === step.tool);
    if (call === undefined) {
      if (offered.some(({ name }) => name === step.tool)) return step;
      report.push(`I cannot do "${formOf(step)}" here: the tool ${step.tool} is not available.`);
      break;
    }
    made = calls.indexOf(call) + 1;
    const response = responses.get(call.id);
    report.push(outcome(step, response));
    if (response?.isError === true) break;
  }
  const left = plan.length - report.length;
  if (left > 0)
    report.push(`I skipped the ${left === 1 ? 'last request' : `last ${left} requests`}.`);
  return report.join('\n\n');
}

/** Matches the texts with which history.ts describes the turns of other agents. */
const TOLD = /^\s*\[[\w-]{1,64}\] (?:said|called|got from|sent)\b/;
/** Matches the texts with which the coding agent gives the content of an attached file to the model. */
const ATTACHED = /^\[File [^\n]+\]/;

/**
 * Returns the text of a message. `own` is the user's text. `all` also contains attached files, and the text of other
 * agents, which may include the request. If the user's text is empty, `own` is the same as `all`.
 */
function wordsOf(content: Content | undefined): { readonly own: string; readonly all: string } {
  const said = (content?.parts ?? []).flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const texts = said.slice(said.lastIndexOf(CANCELED_REQUEST) + 1);
  const all = texts.join('\n').trim();
  const own = texts.filter((text) => !TOLD.test(text) && !ATTACHED.test(text)).join('');
  return { own: own.trim() || all, all };
}

/** Returns the requested calls, or undefined if a part of the request was not understood. */
function planOf(asked: string, offered: readonly ToolDeclaration[]): Step[] | undefined {
  const requests = splitRequests(asked, (said) => understand(said, offered) !== undefined);
  const steps = requests.map((said) => understand(said, offered));
  const plan = steps.filter((step) => step !== undefined).slice(0, MAX_STEPS);
  if (plan.length === 0 || plan.length < Math.min(steps.length, MAX_STEPS)) return undefined;
  return plan;
}

/**
 * Returns the step for a request, or undefined if it was not understood. Tries the known forms whose tool is offered,
 * then the other tools, then the known forms whose tool is not offered.
 */
function understand(said: string, offered: readonly ToolDeclaration[]): Step | undefined {
  const form = parseForm(said);
  if (form !== undefined && offered.some(({ name }) => name === form.tool)) return form;
  const known = new Set(FORMS.map(({ tool }) => tool));
  const others = offered.filter(({ name }) => !known.has(name));
  return matchTool(said, others) ?? form;
}

function outcome(step: Step, response: FunctionResponsePart | undefined): string {
  if (response === undefined) return `${step.tool} gave no response.`;
  // If the response has only one text, this text is shown without the JSON around it.
  const came = shorten(wordsIn(response.response) || '(nothing)', MAX_SHOWN_CHARS);
  if (response.isError === true) return `"${formOf(step)}" did not work: ${came}`;
  if (!step.shows) return step.done;
  return `${step.done}\n${came}`;
}

function wordsIn(response: JsonValue): string {
  if (typeof response === 'string') return response.trimEnd();
  if (response === null) return '';
  if (typeof response === 'object' && !Array.isArray(response)) {
    const values: JsonValue[] = Object.values(response);
    const [only, another] = values;
    if (typeof only === 'string' && another === undefined) return only.trimEnd();
    // A response with these two fields is from a shell command. The exit code is shown only if the command failed.
    const { output, exit_code: code } = response as JsonObject;
    if (typeof output === 'string' && typeof code === 'number') {
      const end = code === 0 ? '' : `[exit code ${code}]`;
      return [output.trimEnd(), end].filter((line) => line !== '').join('\n');
    }
  }
  return JSON.stringify(response);
}

function answer(asked: string, offered: readonly ToolDeclaration[], advice: string): string {
  if (ABOUT_ME.test(asked)) return `${WHAT_I_AM}\n\n${help(offered, advice)}`;
  const gist = shorten(asked.replaceAll(/\s+/g, ' '), MAX_GIST_CHARS);
  const opening = gist === '' ? 'You said nothing.' : `You said: "${gist}".`;
  return `${opening} I am the offline model and cannot answer that.\n\n${help(offered, advice)}`;
}

/** Returns a list of the possible requests. */
function help(offered: readonly ToolDeclaration[], advice: string): string {
  const known = new Map(FORMS.map(({ tool, usage }) => [tool, usage]));
  const usages = offered.map((tool) => known.get(tool.name) ?? usageOf(tool)).slice(0, MAX_USAGES);
  if (usages.length === 0) return `No tools are available here, so I cannot do anything. ${advice}`;
  const list = usages.map((usage) => `- ${usage}`).join('\n');
  return `You can ask me to:\n${list}\nJoin several requests with "then". Put a text in quotes if it should be used literally. ${advice}`;
}

/** Returns the syntax of the request, or the name of the tool. */
function formOf({ tool }: Step): string {
  return FORMS.find((each) => each.tool === tool)?.usage ?? tool;
}
