/**
 * A model that replays what it is given: for tests, demonstrations and benchmarks.
 *
 * A script is an array of responses. Each call of the model takes the next one, whoever calls; when none is left the
 * model fails. A response is an array of steps:
 *
 *     [
 *       [{ "thought": { "subject": "Weather", "description": "I have to look it up" } },
 *        { "call": { "name": "get_weather", "args": { "city": "Paris" } } },
 *        { "call": { "name": "get_weather", "args": { "city": "Rome" } } }],
 *       [{ "delayMs": 50 }, { "text": "Sunny in both." }],
 *       [{ "error": { "status": 429, "message": "slow down" } }]
 *     ]
 *
 * An error is what a vendor's would be: one that may be tried again is, and takes the next response.
 */
import { randomUUIDv7 } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { JsonObject } from '../json.ts';
import { ModelError, type Model, type ModelChunk, type ModelRequest } from '../model.ts';
import { statusError } from './failure.ts';
import { estimateUsage, streamed } from './pieces.ts';
import { pause } from './retry.ts';

/** One of these each. */
export interface ScriptStep {
  readonly thought?: { readonly subject: string; readonly description: string };
  /** Streamed in small chunks. */
  readonly text?: string;
  /** Several in one response are parallel calls. */
  readonly call?: { readonly name: string; readonly args?: JsonObject };
  readonly delayMs?: number;
  readonly error?: { readonly status?: number; readonly message: string };
}

export type ScriptedResponse = readonly ScriptStep[];

export interface ScriptedOptions {
  readonly name?: string;
  /** Told of each request before it is answered. Must not throw. */
  readonly onRequest?: (request: ModelRequest) => void;
}

const MAX_SCRIPT_BYTES = 64 * 1024 * 1024;
const MAX_DELAY_MS = 24 * 60 * 60 * 1000;

const Step = z
  .strictObject({
    thought: z.strictObject({ subject: z.string(), description: z.string().default('') }),
    text: z.string(),
    call: z
      .strictObject({ name: z.string().min(1), args: z.record(z.string(), z.json()) })
      .partial({ args: true }),
    delayMs: z.number().min(0).max(MAX_DELAY_MS),
    error: z
      .strictObject({ status: z.int().min(400).max(599), message: z.string() })
      .partial({ status: true }),
  })
  .partial()
  .refine((step) => Object.keys(step).length === 1, {
    error: 'a step is one of thought, text, call, delayMs and error',
  });
const Script = z.array(z.array(Step));

/**
 * A model that gives these responses, one for each call.
 *
 *     scriptedModel([[{ call: { name: 'get_weather', args: { city: 'Paris' } } }], [{ text: 'It is sunny.' }]])
 */
export function scriptedModel(
  responses: readonly ScriptedResponse[],
  options: ScriptedOptions = {},
): Model {
  const { name = 'scripted' } = options;
  const script = parseScript(responses, name);
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
        const said = `**${thought.subject}**\n\n${thought.description}`;
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

/** Reads a script, once; the model begins at its first response. */
export function scriptFromFile(path: string, options: ScriptedOptions = {}): Model {
  const name = `scripted:${path}`;
  let script: unknown;
  try {
    const bytes = readFileSync(path);
    if (bytes.length > MAX_SCRIPT_BYTES) throw new Error(`it is over ${MAX_SCRIPT_BYTES} bytes`);
    script = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ModelError('invalid-request', `cannot read the script ${path}: ${why}`, {
      cause: error,
    });
  }
  return scriptedModel(parseScript(script, name), { name, ...options });
}

function parseScript(script: unknown, name: string): z.output<typeof Script> {
  const result = Script.safeParse(script);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue === undefined ? '' : position(issue.path);
  throw new ModelError(
    'invalid-request',
    `${name} is no script${where}: ${issue?.message ?? 'it does not fit'}`,
  );
}

/** Where it is, counted as people count. */
function position([response, step, ...rest]: readonly PropertyKey[]): string {
  if (typeof response !== 'number') return '';
  const at = [`response ${response + 1}`];
  if (typeof step === 'number') at.push(`step ${step + 1}`);
  if (rest.length > 0) at.push(rest.map(String).join('.'));
  return `, ${at.join(', ')}`;
}
