/**
 * Converts a request of the Responses API to a ModelRequest. All instructions, system and developer messages are joined
 * into one system instruction.
 */
import type {
  Content,
  ContentPart,
  ModelRequest,
  ToolDeclaration,
} from '../../../../agent/index.ts';
import {
  type Conversion,
  invalidField,
  isFilled,
  isSet,
  type OpenContent,
  partsOfRole,
  setFields,
  type TextOrFile,
  toolResponse,
} from '../../vendor-api/request.ts';
import { fieldIn } from '../../vendor-api/answer.ts';
import { argumentsOf, declarationOf, fileAt, refuseFields } from '../request.ts';
import { type Carried, decodeCarried, isCarried } from '../../vendor-api/carried.ts';
import {
  CallOutputItem,
  type ItemContent,
  CustomCallItem,
  FunctionCallItem,
  type Item,
  MessageItem,
  type ItemPart,
  ReasoningItem,
  type ResponsesBody,
  type ResponseTool,
} from './schema.ts';

/**
 * Fields that are refused for all providers. For background answers, the gateway cannot reserve usage in budgets.
 * `conversation` and `prompt` refer to data in the operator's account at OpenAI, which belongs to no workspace. Each
 * function returns true for values that have no effect. These values are accepted.
 */
const NEVER: Readonly<Record<string, (value: unknown) => boolean>> = {
  background: (value) => value === false,
  conversation: () => false,
  prompt: () => false,
};
/** Fields that would change the answer and that only providers with the Responses API support. Same format as NEVER. */
const UNSUPPORTED: typeof NEVER = { top_logprobs: (value) => value === 0 };

/** The types of items that add tools. */
const TOOL_ITEMS: ReadonlySet<unknown> = new Set(['additional_tools', 'tool_search_output']);

/** The schema of a custom tool's arguments. A custom tool gets one text instead of JSON. */
const CUSTOM_PARAMETERS = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
};

export interface ResponsesRequestOptions extends Conversion {
  /** The items of earlier responses, which precede the items of the body. */
  readonly earlier: readonly Item[];
}

/** Returns the items of the input. */
export function itemsOf({ input = [] }: ResponsesBody): readonly Item[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : input;
}

/** Returns the names of the custom tools. */
export function customTools({ tools }: ResponsesBody): ReadonlySet<string> {
  return new Set(
    (tools ?? []).flatMap(({ type, name }) => (type === 'custom' && name ? [name] : [])),
  );
}

/**
 * Returns whether the request has tools, including tools that run at OpenAI. Items of the conversation may also add
 * tools.
 */
export function hasTools({ tools }: ResponsesBody, items: readonly Item[]): boolean {
  return (
    isFilled(tools) ||
    items.some(({ type, tools: added }) => TOOL_ITEMS.has(type) && isFilled(added))
  );
}

/** Converts the request. Throws `invalidParams` with the name of an invalid field. */
export function responsesRequest(
  body: ResponsesBody,
  { earlier, strict }: ResponsesRequestOptions,
): ModelRequest {
  refuseFields(NEVER, body, 'not supported by this gateway: leave it out');
  if (strict) refuseFields(UNSUPPORTED, body, 'not supported for this model: leave it out');
  const items = [...earlier, ...itemsOf(body)];
  const { system, messages } = contentsOf(items, body.instructions ?? '', earlier.length, strict);
  if (messages.length === 0) throw invalidField('input', 'must contain a message');
  const { temperature, top_p: topP, max_output_tokens: maxOutputTokens, reasoning, text } = body;
  const { effort, summary } = reasoning ?? {};
  const { format, verbosity } = text ?? {};
  return {
    messages,
    ...(system !== '' && { system }),
    ...toolsOf(body, strict),
    ...setFields({ maxOutputTokens, temperature, topP, verbosity, reasoning: effort }),
    ...(format?.type === 'json_object' && { json: true as const }),
    ...(format?.type === 'json_schema' && { outputSchema: format.schema }),
    ...((isSet(effort) || isSet(summary)) && { thoughts: effort !== 'none' }),
    ...(body.parallel_tool_calls === false && { parallelToolCalls: false }),
  };
}

function toolsOf(
  { tools, tool_choice: choice }: ResponsesBody,
  strict: boolean,
): Pick<ModelRequest, 'tools' | 'toolChoice'> {
  const declared = (tools ?? []).flatMap((tool) => declaration(tool));
  const named = isSet(choice) && typeof choice === 'object' ? choice : undefined;
  const isKnown = declared.some(({ name }) => name === named?.name);
  if (strict && named && !isKnown) {
    const why =
      named.name === undefined
        ? `only models of OpenAI have the tool ${named.type}`
        : `the tool ${named.name} is not in tools`;
    throw invalidField('tool_choice', why);
  }
  if (strict && choice === 'required' && declared.length === 0)
    throw invalidField('tool_choice', 'requires a tool of the type function or custom');
  if (declared.length === 0) return {};
  return {
    tools: declared,
    ...(typeof choice === 'string' && { toolChoice: choice }),
    ...(isKnown && named?.name !== undefined && { toolChoice: { tool: named.name } }),
  };
}

/** Converts a tool. Leaves out tools that the vendor runs, because a model can answer without them. */
function declaration(tool: ResponseTool): ToolDeclaration[] {
  const { type, name } = tool;
  if (name === undefined) return [];
  if (type === 'function')
    return [declarationOf({ ...tool, name, description: tool.description ?? '' })];
  if (type !== 'custom') return [];
  const definition = fieldIn(tool['format'], 'definition');
  const grammar =
    typeof definition === 'string' ? `\n\nThe input follows this grammar:\n${definition}` : '';
  const description = (tool.description ?? '') + grammar;
  return [{ name, description, parameters: CUSTOM_PARAMETERS }];
}

/** Converts the items. Consecutive items of one role become one content, because models require alternating roles. */
function contentsOf(
  items: readonly Item[],
  instructions: string,
  earlier: number,
  strict: boolean,
): { readonly system: string; readonly messages: readonly Content[] } {
  const system = instructions === '' ? [] : [instructions];
  const messages: OpenContent[] = [];
  /** The names of the tools whose calls have no output yet, by the id of the call. */
  const open = new Map<string, string>();
  const signatures = new Map<string, Carried>();

  const add = (role: Content['role'], ...parts: readonly ContentPart[]) =>
    partsOfRole(messages, role).push(...parts);

  for (const [index, item] of items.entries()) {
    const at = `input.${Math.max(0, index - earlier)}`;
    const message = MessageItem.safeParse(item).data;
    const call = FunctionCallItem.safeParse(item).data ?? CustomCallItem.safeParse(item).data;
    const output = CallOutputItem.safeParse(item).data;
    const reasoning = ReasoningItem.safeParse(item).data;
    if (message) {
      const { role, content } = message;
      if (role === 'system' || role === 'developer') system.push(textOf(content));
      else add(role === 'user' ? 'user' : 'model', ...partsOf(content, `${at}.content`));
    } else if (call) {
      const { call_id: id, name } = call;
      const args =
        call.type === 'function_call'
          ? argumentsOf(call.arguments, `${at}.arguments`)
          : { input: call.input };
      open.set(id, name);
      const provider = signatures.get(id)?.provider;
      add('model', { kind: 'function-call', id, name, args, ...(provider && { provider }) });
    } else if (output) {
      const { call_id: id } = output;
      const name = open.get(id);
      if (name === undefined)
        throw invalidField(at, `there is no preceding tool call with the id ${id}`);
      open.delete(id);
      const response = toolResponse(partsOf(output.output, `${at}.output`));
      add('user', { kind: 'function-response', id, name, ...response });
    } else if (reasoning) {
      const carried = carriedIn(reasoning);
      if (carried?.callId !== undefined) signatures.set(carried.callId, carried);
      else {
        const text = (reasoning.summary ?? []).map((part) => part.text).join('\n\n');
        const provider = carried?.provider;
        if (text !== '' || provider) {
          add('model', { kind: 'thought', text, ...(provider && { provider }) });
        }
      }
    } else if (strict) {
      throw invalidField(at, `items of the type ${item.type} are not supported for this model`);
    }
  }
  const [missing] = open.keys();
  if (missing !== undefined) throw invalidField('input', `the tool call ${missing} has no output`);
  return { system: system.join('\n\n'), messages };
}

function partsOf(content: ItemContent, at: string): readonly TextOrFile[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  return content.map((part, place) => partOf(part, `${at}.${place}`));
}

function partOf(part: ItemPart, at: string): TextOrFile {
  switch (part.type) {
    case 'refusal':
      return { kind: 'text', text: part.refusal };
    case 'input_image':
      if (!isSet(part.image_url)) throw invalidField(at, 'send the image as image_url');
      return fileAt(part.image_url, `${at}.image_url`, 'image/*');
    case 'input_file': {
      const url = part.file_data ?? part.file_url;
      if (!isSet(url)) throw invalidField(at, 'send the file as file_data or file_url');
      return { ...fileAt(url, at, 'application/pdf'), ...setFields({ name: part.filename }) };
    }
    default:
      return { kind: 'text', text: part.text };
  }
}

function textOf(content: ItemContent): string {
  if (typeof content === 'string') return content;
  return content
    .map((part) => {
      if (part.type === 'refusal') return part.refusal;
      return 'text' in part && typeof part.text === 'string' ? part.text : '';
    })
    .join('');
}

/** Returns the vendor's data in a reasoning item. A text that the gateway did not encode comes from OpenAI. */
function carriedIn({ encrypted_content: text, id }: ReasoningItem): Carried | undefined {
  if (!isSet(text)) return undefined;
  if (isCarried(text)) return decodeCarried(text);
  const openai = { reasoningEncryptedContent: text, ...(isSet(id) && { itemId: id }) };
  return { provider: { openai } };
}
