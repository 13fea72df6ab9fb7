/**
 * The confirmation request for a call, in the format of the development-tool extension.
 *
 * The `detail` of a question contains the confirmation request. The question is stored in the session, so every process
 * shows the same request.
 */
import { randomUUIDv7 } from 'node:crypto';
import * as z from 'zod';
import type { Question } from '../../agent/index.ts';
import { defined, elide, reveal, shorten, type JsonObject } from '../../base/index.ts';
import {
  callDetails,
  ConfirmationRequest,
  OPTION,
  detailText,
  type ConfirmationOption,
} from '../../protocol/development-tool/index.ts';
import type { Preview } from '../tools/tool.ts';
import { grantFrom, optionsFor, type CallToApprove } from './options.ts';
import type { PolicyRule } from './rule.ts';

/**
 * Maximum length of a call in a question for clients without the extension. Only the middle of a longer call is left
 * out, because a command can do harm at either end. MAX_CALL_END is the length of the end that is shown.
 */
const MAX_CALL_TEXT = 16 * 1024;
const MAX_CALL_END = 4 * 1024;
/** Maximum length of the line before the call. */
const MAX_INTRODUCTION = 200;

/** The confirmation request of a question. */
const AskedRequest = z.object({
  request: ConfirmationRequest,
  correlationId: z.string(),
  /** The fingerprint of the files that the preview was made from. */
  fingerprint: z.string().optional(),
});

/**
 * Returns the `detail` of the question that asks whether this call is allowed. An option that adds rules is offered
 * only if `suffices` returns true for these rules. By default, `fingerprint` is the fingerprint of the preview.
 */
export function detailFor(
  call: CallToApprove,
  fingerprint = fingerprintIn(call.preview),
  suffices: (rules: readonly PolicyRule[]) => boolean = () => true,
): JsonObject {
  const options = optionsFor(call).filter(({ id }) => {
    const rules = grantFrom(id, call);
    return rules.length === 0 || suffices(rules);
  });
  const request: ConfirmationRequest = { options, ...detailsOf(call.preview) };
  return { request, correlationId: randomUUIDv7(), ...defined({ fingerprint }) };
}

function fingerprintIn(preview: Preview): string | undefined {
  return preview.kind === 'edit' ? preview.fingerprint : undefined;
}

function detailsOf(preview: Preview): Omit<ConfirmationRequest, 'options'> {
  switch (preview.kind) {
    case 'execute': {
      const { command, workingDirectory: working_directory } = preview;
      return { execute_details: { command, working_directory } };
    }
    case 'edit': {
      const [only, ...others] = preview.diffs;
      if (only && others.length === 0) return { file_edit_details: only };
      const files = preview.diffs.map(
        ({ file_path, formatted_diff }) => formatted_diff ?? file_path,
      );
      return { generic_details: { description: files.join('\n') } };
    }
    case 'mcp':
      return { mcp_details: { server_name: preview.server, tool_name: preview.tool } };
    default:
      return { generic_details: { description: preview.description } };
  }
}

/**
 * Maximum number of a question's own options. Further ones are left out. FREE_TEXT and CANCEL are added to the others.
 */
const MAX_CHOICES = 30;
/** The option to answer with a text. Every question of a tool has this option. */
const FREE_TEXT: ConfirmationOption = { id: OPTION.words, name: 'Answer in your own words' };
/** The option not to answer. Every question of a tool has this option. */
const CANCEL: ConfirmationOption = { id: OPTION.cancel, name: 'Do not answer' };

/** Returns the confirmation request that represents a question. */
export function requestOf(question: Question): z.infer<typeof AskedRequest> {
  const own = AskedRequest.safeParse(question.detail);
  if (own.success) return own.data;
  // The model chooses the names of the options. The ids are generated, because a name may be equal to the id of another
  // option.
  const texts = new Set((question.options ?? []).map((text) => text.trim()));
  texts.delete('');
  const choices = [...texts]
    .slice(0, MAX_CHOICES)
    .map((name, at) => ({ id: `option_${at + 1}`, name }));
  const options = [...choices, FREE_TEXT, CANCEL];
  const generic_details = { description: question.text };
  return { request: { options, generic_details }, correlationId: question.id };
}

/**
 * Returns all open questions as text, for clients that do not support the extension. One text message answers all of
 * these questions.
 */
export function questionText(questions: readonly Question[]): string {
  const confirmations = questions.filter(({ kind }) => kind === 'confirmation');
  const lines = questions.map((question) =>
    question.kind === 'confirmation' ? withCall(question) : withOptions(question),
  );
  if (confirmations.length > 0) {
    const what = confirmations.length === 1 ? 'May I do this?' : 'May I do all of this?';
    lines.push(`${what} Answer yes or no, or say what to do instead.${optionNames(confirmations)}`);
  }
  return lines.join('\n\n');
}

/**
 * Returns a text with the options that all these questions have in common, without options that need further input.
 * Returns an empty text if there are none.
 */
function optionNames(questions: readonly Question[]): string {
  const [first = [], ...others] = questions.map((question) => requestOf(question).request.options);
  const common = first.filter(
    ({ id, name }) =>
      id !== OPTION.modify &&
      others.every((options) => options.some((each) => each.id === id && each.name === name)),
  );
  if (common.length === 0) return '';
  return ` You can also answer with the name of an option:\n${common.map(({ name }) => `- ${reveal(name)}`).join('\n')}`;
}

/**
 * Returns the question with the call, so that a person sees what they approve. Of a very long call, the middle is left
 * out.
 */
function withCall(question: Question): string {
  const { request } = requestOf(question);
  const { tool = '', args = {}, text } = question;
  const call = { tool_name: tool, input_parameters: args, confirmation_request: request };
  const details = elide(detailText(callDetails(call)), MAX_CALL_TEXT, MAX_CALL_END);
  // The details already contain this text.
  const repeated = request.mcp_details || text === request.generic_details?.description;
  return repeated ? details : `${shorten(reveal(text), MAX_INTRODUCTION)}\n${details}`;
}

function withOptions({ text, options = [] }: Question): string {
  return options.length === 0 ? text : `${text} (${options.join(', ')})`;
}
