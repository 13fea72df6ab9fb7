/** Recognizes and reads the confirmations that clients send, in the format of the extension or of gemini-cli. */
import { isObject, shorten } from '../../base/index.ts';
import { A2AError } from '../errors.ts';
import { parseWith } from '../json.ts';
import { isCoderAgentAnswer, readCoderAgentAnswer } from './coder-agent.ts';
import { plainName } from './message.ts';
import { ToolCallConfirmation } from './tool-call.ts';

const CONFIRMATION_FIELDS = new Set(Object.keys(ToolCallConfirmation.in.shape));

/**
 * Returns whether a data part of a user's message is meant as a confirmation. It may still be invalid. A client may
 * have misspelt one of the fields, and such a part must not be taken for something else.
 */
export function looksLikeConfirmation(data: unknown): boolean {
  if (!isObject(data)) return false;
  if (isCoderAgentAnswer(data)) return true;
  const named = (name: string): boolean => Object.keys(data).some((key) => plainName(key) === name);
  return named('selectedoptionid') || (named('toolcallid') && !named('toolname'));
}

/**
 * Reads a confirmation that a client sends. Throws if it is invalid. An unknown field is refused, because it may be a
 * misspelt one, and then the server would do something else than the person approved.
 */
export function readConfirmation(data: unknown): ToolCallConfirmation {
  if (isCoderAgentAnswer(data)) return readCoderAgentAnswer(data);
  for (const field of isObject(data) ? Object.keys(data) : []) {
    if (CONFIRMATION_FIELDS.has(field)) continue;
    const known = [...CONFIRMATION_FIELDS].join(', ');
    throw new A2AError(
      'invalidParams',
      `ToolCallConfirmation: unknown field ${shorten(field, 64)}; the fields are ${known}`,
    );
  }
  return parseWith(ToolCallConfirmation, data, 'ToolCallConfirmation');
}

/** Reads a confirmation from a task's log. Returns undefined if it is invalid. */
export function tryConfirmation(data: unknown): ToolCallConfirmation | undefined {
  if (!isCoderAgentAnswer(data)) return ToolCallConfirmation.safeParse(data).data;
  try {
    return readCoderAgentAnswer(data);
  } catch {
    return undefined;
  }
}
