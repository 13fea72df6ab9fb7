/** Errors of tool calls, with a type for programs. */
import type { JsonValue } from '../base/index.ts';
import { messageOf } from './tool-result.ts';

/** The type of a failed call. In addition, people and models get a message. */
export type ToolErrorType =
  /** The arguments do not match the schema or do not make sense. */
  | 'invalid_arguments'
  /** The tool, the file or the object does not exist. */
  | 'not_found'
  /** A rule, the approval mode or the system does not allow the call. */
  | 'denied'
  /** A person declined the call. */
  | 'declined'
  /** The call conflicts with the current state, for example because a file has changed. */
  | 'conflict'
  | 'too_large'
  | 'timeout'
  /** The host could not be reached, or the connection was lost. */
  | 'network'
  /** The command ended with an exit code other than 0, or was ended by a signal. */
  | 'exit_code'
  /** The call was stopped, or never started because the run was stopped. */
  | 'stopped'
  /** The process ended while the call was running, so its effects are unknown. */
  | 'outcome_unknown'
  /** Any other error. */
  | 'tool_error';

/** The error of a failed call, for programs. */
export interface ToolErrorDetails {
  readonly type: ToolErrorType;
  /** A status code with more detail, for example the exit code of a command. */
  readonly statusCode?: number;
}

/**
 * The symbol that identifies the class below. `instanceof` is not enough, because a tool may come from another copy
 * of this package.
 */
const TOOL_ERROR = Symbol.for('parley.tool-error');

/**
 * An error with a type. A tool throws it to fail its call.
 *
 *   throw new ToolError('not_found', 'there is no customer 17');
 */
export class ToolError extends Error {
  readonly [TOOL_ERROR] = true;
  override readonly name: string = 'ToolError';
  readonly type: ToolErrorType;
  readonly statusCode: number | undefined;
  /** The response for the model. Default: the message. */
  readonly response: JsonValue | undefined;

  constructor(
    type: ToolErrorType,
    message: string,
    more: {
      readonly statusCode?: number;
      readonly response?: JsonValue;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, more.cause === undefined ? {} : { cause: more.cause });
    this.type = type;
    this.statusCode = more.statusCode;
    this.response = more.response;
  }
}

/** The parts of a function response that describe an error. */
export interface FailedResponse {
  readonly response: JsonValue;
  readonly isError: true;
  readonly error: ToolErrorDetails;
  /** The message for people, or undefined if it is the same as the response. */
  readonly display?: string;
}

/** Returns the response to a call that failed with this error. */
export function failedResponse(error: unknown, type: ToolErrorType = 'tool_error'): FailedResponse {
  const message = messageOf(error);
  if (!isToolError(error)) return { response: message, isError: true, error: { type } };
  const { statusCode, response } = error;
  return {
    response: response ?? message,
    isError: true,
    error: { type: error.type, ...(statusCode !== undefined && { statusCode }) },
    ...(response !== undefined && { display: message }),
  };
}

function isToolError(error: unknown): error is ToolError {
  return typeof error === 'object' && error !== null && TOOL_ERROR in error;
}
