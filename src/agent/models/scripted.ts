/**
 * A model that replays a script. It is used for tests, demonstrations and benchmarks.
 *
 * A script is an array of responses. Each request takes the next response. When no response is left, the request
 * fails. A response is an array of steps:
 *
 *     [
 *       [{ "thought": { "subject": "Weather", "description": "I have to look it up" } },
 *        { "call": { "name": "get_weather", "args": { "city": "Paris" } } },
 *        { "call": { "name": "get_weather", "args": { "city": "Rome" } } }],
 *       [{ "delayMs": 50 }, { "text": "Sunny in both." }],
 *       [{ "error": { "status": 429, "message": "slow down" } }]
 *     ]
 *
 * An error step has the same effect as an error of a vendor. If the error is retryable, the retry takes the next
 * response.
 */
import { randomUUIDv7 } from 'node:crypto';
import { pause, type JsonObject, isObject, reasonOf } from '../../base/index.ts';
import { readFileSync } from 'node:fs';
import { ModelError, type Model, type ModelChunk, type ModelRequest } from '../model.ts';
import { statusError } from './vendor-error.ts';
import { estimateUsage, streamed } from './pieces.ts';

/** One step of a response. It has exactly one of these fields. */
export interface ScriptStep {
  readonly thought?: { readonly subject: string; readonly description?: string };
  /** A text, which is streamed in small chunks. */
  readonly text?: string;
  /** A tool call. Several calls in one response are parallel calls. */
  readonly call?: { readonly name: string; readonly args?: JsonObject };
  readonly delayMs?: number;
  readonly error?: { readonly status?: number; readonly message: string };
}

/** One response of a scripted model. */
export type ScriptedResponse = readonly ScriptStep[];

/** The options of `scriptedModel`. */
export interface ScriptedOptions {
  readonly name?: string;
  /** Called with each request before it is answered. Must not throw. */
  readonly onRequest?: (request: ModelRequest) => void;
}

const MAX_SCRIPT_BYTES = 64 * 1024 * 1024;
const MAX_DELAY_MS = 24 * 60 * 60 * 1000;

/**
 * Returns a model that gives these responses, one for each request.
 *
 *     scriptedModel([[{ call: { name: 'get_weather', args: { city: 'Paris' } } }], [{ text: 'It is sunny.' }]])
 */
export function scriptedModel(
  responses: readonly ScriptedResponse[],
  options: ScriptedOptions = {},
): Model {
  const { name = 'scripted' } = options;
  checkScript(responses, name);
  const script = [...responses];
  let taken = 0;

  async function* generate(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelChunk> {
    signal.throwIfAborted();
    options.onRequest?.(request);
    const response = script[taken];
    if (response === undefined) {
      throw new ModelError(
        'exhausted',
        `script exhausted: all ${script.length} responses are used up`,
      );
    }
    taken++;
    let chars = 0;
    let calls = 0;
    for (const { thought, text, call, delayMs, error } of response) {
      if (thought !== undefined) {
        const said = `**${thought.subject}**\n\n${thought.description ?? ''}`;
        chars += said.length;
        yield* streamed('thought', said, signal);
      } else if (text !== undefined) {
        chars += text.length;
        yield* streamed('text', text, signal);
      } else if (call !== undefined) {
        const args = call.args ?? {};
        chars += call.name.length + JSON.stringify(args).length;
        calls++;
        yield { kind: 'function-call', id: `call_${randomUUIDv7()}`, name: call.name, args };
      } else if (delayMs !== undefined) {
        await pause(delayMs, signal);
      } else if (error !== undefined) {
        if (error.status === undefined) throw new ModelError('failed', error.message);
        throw statusError(error.status, error.message);
      }
    }
    const reason = calls > 0 ? 'tool-calls' : 'stop';
    yield { kind: 'finish', reason, usage: estimateUsage(request, chars) };
  }

  return { name, generate };
}

/** Reads a script from a file. Each model that this function returns starts at the first response. */
export function scriptFromFile(path: string, options: ScriptedOptions = {}): Model {
  const name = `scripted:${path}`;
  let script: unknown;
  try {
    const bytes = readFileSync(path);
    if (bytes.length > MAX_SCRIPT_BYTES)
      throw new Error(`it is larger than ${MAX_SCRIPT_BYTES} bytes`);
    script = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new ModelError('invalid-request', `cannot read the script ${path}: ${reasonOf(error)}`, {
      cause: error,
    });
  }
  checkScript(script, name);
  return scriptedModel(script, { name, ...options });
}

/** Checks a script. Does not use zod, because loading zod would take half of the framework's load time. */
function checkScript(script: unknown, name: string): asserts script is readonly ScriptedResponse[] {
  function refuse(where: string, what: string): never {
    throw new ModelError('invalid-request', `${name} is not a valid script${where}: ${what}`);
  }
  if (!Array.isArray(script)) refuse('', 'it is not an array of responses');
  for (const [index, response] of script.entries()) {
    const where = `, response ${index + 1}`;
    if (!Array.isArray(response)) refuse(where, 'it is not an array of steps');
    for (const [position, step] of response.entries()) {
      const problem = problemOf(step);
      if (problem !== undefined) refuse(`${where}, step ${position + 1}`, problem);
    }
  }
}

type Check = (value: unknown) => boolean;

/** The checks for each kind of step: one check for the step, or one for each of its fields. */
const STEPS: Readonly<
  Record<string, Check | Readonly<Record<string, readonly [Check, 'optional'?]>>>
> = {
  thought: { subject: [isString], description: [isString, 'optional'] },
  text: isString,
  call: { name: [isName], args: [isObject, 'optional'] },
  delayMs: (value) => typeof value === 'number' && value >= 0 && value <= MAX_DELAY_MS,
  error: { status: [isErrorStatus, 'optional'], message: [isString] },
};

function problemOf(step: unknown): string | undefined {
  const [[kind, value] = ['', undefined], another] = isObject(step) ? Object.entries(step) : [];
  const check = Object.hasOwn(STEPS, kind) ? STEPS[kind] : undefined;
  if (check === undefined || another !== undefined) {
    return `a step must be one of ${Object.keys(STEPS).join(', ')}, not ${JSON.stringify(step)?.slice(0, 80)}`;
  }
  if (typeof check === 'function') return check(value) ? undefined : `${kind} is invalid`;
  if (!isObject(value)) return `${kind} is not an object`;
  for (const [field, [fits, optional]] of Object.entries(check)) {
    if (value[field] === undefined && optional) continue;
    if (!fits(value[field])) return `${kind}.${field} is missing or invalid`;
  }
  const unknown = Object.keys(value).find((field) => !Object.hasOwn(check, field));
  return unknown === undefined ? undefined : `${kind}.${unknown} is unknown`;
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function isName(value: unknown): boolean {
  return isString(value) && value !== '';
}

function isErrorStatus(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 400 && Number(value) <= 599;
}
