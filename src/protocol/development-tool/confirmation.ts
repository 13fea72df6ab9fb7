/** Recognizes and reads the confirmations that clients send, in the format of the extension or of gemini-cli. */
import { isObject, shorten } from '../../base/index.ts';
import { A2AError } from '../errors.ts';
import { parseWith } from '../json.ts';
import { isCoderAgentAnswer, readCoderAgentAnswer } from './coder-agent.ts';
import { plainName } from './message.ts';
import { ToolCallConfirmation } from './tool-call.ts';

const CONFIRMATION_FIELDS = new Set(Object.keys(ToolCallConfirmation.in.shape));

/**
 * Returns whether a data part of a user's message is meant as a confirmation. The confirmation may still be invalid.
 * A client may have misspelled a field, and such a part must not be treated as other data.
 */
export function looksLikeConfirmation(data: unknown): boolean {
  if (!isObject(data)) return false;
  if (isCoderAgentAnswer(data)) return true;
  const named = (name: string): boolean => Object.keys(data).some((key) => plainName(key) === name);
  return named('selectedoptionid') || (named('toolcallid') && !named('toolname'));
}

/**
 * Reads a confirmation from a client. Throws if it is invalid. In the format of the extension, an unknown field is
 * refused, because it may be a misspelled field. If the server ignored the field, it could do something that the person
 * has not approved.
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
