/**
 * The responses to calls that get no result because they were declined or their run was stopped. From these responses,
 * the model learns what happened to its calls.
 */
import { isObject, type JsonValue } from '../../base/index.ts';
import { createEvent, type Event } from '../event.ts';
import { ToolError, failedResponse } from '../tool-error.ts';
import type { OpenCall, RunIndex } from './run-index.ts';

/**
 * Maximum length of a call's partial output, or of the summary of its work, in characters. Of a longer text, only the
 * end is kept.
 */
const MAX_OUTPUT = 8 * 1024;

/**
 * Returns the error for a call that was active when its process ended. If an agent ran as the tool, `work` is a
 * summary of the agent's work.
 */
export function outcomeUnknown(work = ''): ToolError {
  const message = 'outcome unknown: the process ended while this call was being made';
  return new ToolError('outcome_unknown', `${message}${workText(work)}`);
}

/** Returns whether a person has declined the call. Such a call is never run. */
export function isDeclined({ confirmation }: OpenCall): boolean {
  return confirmation !== undefined && confirmation.confirmed !== true;
}

/** Returns the error for a call that a person has declined. It contains the person's reason, if there is one. */
export function declined({ confirmation }: OpenCall): ToolError {
  const value = confirmation?.value;
  const reason = typeof value === 'string' && value !== '' ? `: ${value}` : '';
  return new ToolError('declined', `this call was declined${reason}`);
}

/**
 * Returns the error for a call that was stopped for the given reason. `progress` is the last progress that the tool
 * reported. For a call that a person has declined, returns the error of `declined` instead.
 */
export function stopped(reason: string, call: OpenCall, progress?: JsonValue): ToolError {
  if (isDeclined(call)) return declined(call);
  // Only a confirmation is asked before the tool is called. After any other question, the tool was called.
  const wasCalled = call.begun === true || (call.asks ?? 'confirmation') !== 'confirmation';
  if (!wasCalled) return new ToolError('stopped', `${reason}: this call was not run`);
  const output = typeof progress === 'string' ? progress.trim() : '';
  const more = output === '' ? '' : `. Its output so far:\n${output.slice(-MAX_OUTPUT)}`;
  const work = isObject(progress) && typeof progress['work'] === 'string' ? progress['work'] : '';
  return new ToolError('stopped', `${reason}: this call did not finish${more}${workText(work)}`);
}

function workText(work: string): string {
  return work === '' ? '' : `. What it had done by then:\n${work.slice(-MAX_OUTPUT)}`;
}

/** Returns whether the call waits for a person's answer. */
export function awaitsAnswer({ part }: OpenCall, index: RunIndex): boolean {
  return index.questionsOf(part.id).length > 0;
}

/**
 * Returns whether the call may have been active when an earlier process ended. `begun` is not considered, because it
 * refers only to this process.
 */
export function isUnknown(call: OpenCall, index: RunIndex, blocked: ReadonlySet<string>): boolean {
  const isKnown = isDeclined(call) || call.unused === true || awaitsAnswer(call, index);
  return !isKnown && !blocked.has(call.part.id);
}

/** Returns the event with the response to a call that ends with this error. */
export function endedCall({ runId }: RunIndex, call: OpenCall, error: ToolError): Event {
  const { part, agent: author, branch } = call;
  const { id, name } = part;
  const response = { kind: 'function-response', id, name, ...failedResponse(error) } as const;
  return createEvent({ runId, author, branch }, { content: { role: 'user', parts: [response] } });
}
