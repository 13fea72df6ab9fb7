/**
 * Converts a request of Anthropic's Messages API to a ModelRequest, for providers with another API. Markers for
 * Anthropic's cache and unknown fields are ignored. Known fields, tools and blocks are refused if they would change the
 * answer and cannot be converted.
 */
import type { JsonObject } from '../../../base/index.ts';
import type { Content, ContentPart, ModelRequest, ToolDeclaration } from '../../../agent/index.ts';
import {
  type Conversion,
  convertedOrData,
  invalidField,
  isFilled,
  isSet,
  levelOf,
  type OpenContent,
  partsOfRole,
  readAt,
  setFields,
  type TextOrFile,
  toolResponse,
} from '../vendor-api/request.ts';
import {
  type AnthropicTool,
  type Block,
  type BlockList,
  BLOCKS,
  type CountBody,
  type InputMessage,
  type MessagesBody,
  type Source,
  ToolChangeBlock,
} from './schema.ts';
import { decodeCarried } from '../vendor-api/carried.ts';

/** Fields that only Anthropic supports, and that would change the answer. */
const ONLY_ANTHROPIC = ['container', 'mcp_servers', 'inference_geo'] as const;
/**
 * The defaults of Anthropic. A client may send them explicitly: Claude Code always sends an effort. They are not passed
 * on to other vendors, because some models refuse every temperature or effort.
 */
const DEFAULT_TEMPERATURE = 1;
const DEFAULT_EFFORT = 'high';

const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
/** The start of a text that Claude Code sends to Anthropic before its prompt. This text is not part of the prompt. */
const BILLING = 'x-anthropic-billing-header:';

/**
 * Converts the request. With `strict`, throws `invalidParams` with the name of a field that other providers cannot
 * process. Without `strict`, converts only the fields that determine the number of tokens.
 */
export function messagesRequest(body: MessagesBody, { strict }: Conversion): ModelRequest {
  if (strict && body.max_tokens === 0)
    throw invalidField('max_tokens', 'only models of Anthropic support 0');
  const limited = { ...inputOf(body, { strict }), maxOutputTokens: body.max_tokens };
  if (!strict) return limited;
  const { temperature, top_p: topP, top_k: topK, stop_sequences: stop } = body;
  return {
    ...limited,
    ...(temperature !== DEFAULT_TEMPERATURE && setFields({ temperature })),
    ...setFields({ topP, topK }),
    ...(isSet(stop) && stop.length > 0 && { stop }),
    ...thinkingOf(body),
  };
}

/** Returns the settings for thoughts. A number of tokens is converted to a level. */
function thinkingOf({
  thinking,
  output_config: config,
}: MessagesBody): Pick<ModelRequest, 'reasoning' | 'thoughts'> {
  const { type = 'disabled', display, budget_tokens: budget } = thinking ?? {};
  const asked = config?.effort === DEFAULT_EFFORT ? undefined : config?.effort;
  const level = budget === undefined ? undefined : levelOf(budget);
  const effort = EFFORTS.find((each) => each === asked) ?? level;
  const thinks = type !== 'disabled';
  return {
    ...(effort !== undefined && (thinks || !isSet(thinking)) && { reasoning: effort }),
    ...(thinks && display !== 'omitted' && { thoughts: true }),
  };
}

/**
 * Converts the fields that determine the input tokens. Without `strict`, a block that cannot be converted becomes a
 * data part. This is accurate enough to estimate the tokens of a request that is relayed to Anthropic.
 */
export function inputOf(body: CountBody, { strict }: Conversion): ModelRequest {
  const refused = strict ? ONLY_ANTHROPIC.find((field) => isFilled(body[field])) : undefined;
  if (refused !== undefined) throw invalidField(refused, 'only models of Anthropic support it');
  const system = plainText(body.system ?? '');
  const schema = body.output_config?.format?.schema;
  return {
    messages: contentsOf(body.messages, strict),
    ...(system !== '' && { system }),
    ...toolsOf(body, strict),
    ...(schema !== undefined && { outputSchema: schema }),
  };
}

/**
 * Returns the text of all text blocks, without the billing text of Claude Code. Ignores other blocks. Returns a string
 * unchanged.
 */
function plainText(content: BlockList): string {
  if (typeof content === 'string') return content;
  return content
    .flatMap(({ text }) => (typeof text === 'string' && text !== '' ? [text] : []))
    .filter((text) => !text.startsWith(BILLING))
    .join('\n\n');
}

function toolsOf(
  body: CountBody,
  isStrict: boolean,
): Pick<ModelRequest, 'tools' | 'toolChoice' | 'parallelToolCalls'> {
  const { tool_choice: choice } = body;
  const declared = changedTools(body).flatMap((tool, index): ToolDeclaration[] => {
    const { type, name = '', description, input_schema: parameters } = tool;
    const isCustom = !isSet(type) || type === 'custom';
    if (!isCustom || parameters === undefined || name === '') {
      if (!isStrict) return [];
      const why = isCustom
        ? 'a tool needs a name and an input_schema'
        : `only models of Anthropic have the tool ${type}`;
      throw invalidField(`tools.${index}`, why);
    }
    const strict = tool.strict === true && { strict: true };
    return [{ name, description: description ?? '', parameters, ...strict }];
  });
  if (declared.length === 0) {
    if (!isStrict || !isSet(choice) || choice.type === 'auto' || choice.type === 'none') return {};
    throw invalidField('tool_choice', 'requires tools');
  }
  if (!isSet(choice)) return { tools: declared };
  const single = choice.disable_parallel_tool_use === true && { parallelToolCalls: false };
  if (choice.type !== 'tool') {
    const toolChoice = choice.type === 'any' ? 'required' : choice.type;
    return { tools: declared, toolChoice, ...single };
  }
  const { name = '' } = choice;
  if (isStrict && !declared.some((tool) => tool.name === name))
    throw invalidField('tool_choice.name', `the tool ${JSON.stringify(name)} is not in tools`);
  return { tools: declared, toolChoice: { tool: name }, ...single };
}

/** Returns whether the request has tools, including tools that run at Anthropic or at an MCP server. */
export function hasTools(body: CountBody): boolean {
  return isFilled(body.tools) || isFilled(body['mcp_servers']) || changedTools(body).length > 0;
}

/**
 * Returns the tools after all changes in system messages. Includes tools with deferred loading (`defer_loading`), which
 * Anthropic loads only when a model searches for them.
 */
function changedTools({ tools, messages }: CountBody): readonly AnthropicTool[] {
  const systems = messages.filter(({ role }) => role === 'system');
  let all = [...(tools ?? [])];
  const removed = new Set<string>();
  for (const block of systems.flatMap(({ content }) => (Array.isArray(content) ? content : []))) {
    if (!/^tool_(?:addition|removal)$/.test(block.type)) continue;
    const { success, data } = ToolChangeBlock.safeParse(block);
    if (!success) continue;
    const { tool } = data;
    if (tool.type === 'tool_definition') {
      const { definition } = tool;
      const { name = '' } = definition;
      // A new definition replaces an earlier tool of this name, even if this tool was removed.
      all = [...all.filter((other) => name === '' || other.name !== name), definition];
      removed.delete(name);
    } else if (block.type === 'tool_removal') removed.add(tool.name);
    else removed.delete(tool.name);
  }
  return all.filter(({ name = '' }) => !removed.has(name));
}

/**
 * Converts the messages. Consecutive messages of the same role become one content, as in Anthropic's API. With
 * `strict`, each tool call must have its result in the next user message. Other vendors do not support system messages
 * within a conversation, so these messages become marked texts of the user.
 */
function contentsOf(messages: readonly InputMessage[], strict: boolean): Content[] {
  const contents: OpenContent[] = [];
  /** The names of the tools whose calls have no result yet, by the id of the call. */
  const open = new Map<string, string>();

  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}.content`;
    const { content } = message;
    if (message.role === 'system') {
      const text = plainText(content ?? '');
      const part = { kind: 'text' as const, text: `<system>\n${text}\n</system>` };
      if (text !== '') partsOfRole(contents, 'user').push(part);
      continue;
    }
    if (content === undefined && strict) throw invalidField(at, 'required');
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    /** The data of another vendor that belongs to the next tool call (answer.ts). */
    let carried: JsonObject | undefined;
    const parts = (blocks ?? []).flatMap((block, place) =>
      convertedOrData(block, strict, () => convert(block, `${at}.${place}`)),
    );
    const role = message.role === 'user' ? 'user' : 'model';
    if (role === 'user') close(at);
    partsOfRole(contents, role).push(...parts);

    function convert(block: Block, place: string): ContentPart[] {
      switch (block.type) {
        case 'tool_use': {
          const { id, name, input: args } = readAt(BLOCKS.tool_use, block, place);
          const provider = carried;
          carried = undefined;
          open.set(id, name);
          return [{ kind: 'function-call', id, name, args, ...(provider && { provider }) }];
        }
        case 'tool_result': {
          const result = readAt(BLOCKS.tool_result, block, place);
          const { tool_use_id: id } = result;
          const name = open.get(id);
          if (name === undefined) {
            const why = `there is no tool_use block with the id ${id} in the previous message`;
            throw invalidField(`${place}.tool_use_id`, why);
          }
          open.delete(id);
          const isError = result.is_error === true && { isError: true };
          const response = resultOf(result.content ?? '', `${place}.content`);
          return [{ kind: 'function-response', id, name, ...response, ...isError }];
        }
        case 'redacted_thinking':
          carried =
            decodeCarried(readAt(BLOCKS.redacted_thinking, block, place).data)?.provider ?? carried;
          return [];
        case 'thinking': {
          const { thinking: text, signature } = readAt(BLOCKS.thinking, block, place);
          const provider = decodeCarried(signature)?.provider;
          return [{ kind: 'thought', text, ...(provider && { provider }) }];
        }
        default:
          return shown(block, place);
      }
    }
  }
  close('messages');
  return contents;

  function close(at: string): void {
    const [missing] = open.keys();
    open.clear();
    if (missing === undefined || !strict) return;
    throw invalidField(at, `the tool_use block with the id ${missing} has no tool_result block`);
  }
}

/** Converts a block of text, an image, a document, a search result or a tool reference. Throws for other blocks. */
function shown(block: Block, at: string): TextOrFile[] {
  switch (block.type) {
    case 'text':
      return [{ kind: 'text', text: readAt(BLOCKS.text, block, at).text }];
    case 'image':
      return fromSource(readAt(BLOCKS.image, block, at).source, 'image/*', `${at}.source`);
    case 'document': {
      const { source, title, context } = readAt(BLOCKS.document, block, at);
      const parts = fromSource(source, 'application/pdf', `${at}.source`, title ?? undefined);
      return isSet(context) ? [{ kind: 'text', text: context }, ...parts] : parts;
    }
    case 'search_result': {
      const { source, title, content } = readAt(BLOCKS.search_result, block, at);
      const texts = content.map(({ text }) => text);
      return [{ kind: 'text', text: [`${title} (${source}):`, ...texts].join('\n') }];
    }
    case 'tool_reference': {
      // Tools with deferred loading are always loaded, so the reference becomes a text with the tool's name.
      const { tool_name: name } = readAt(BLOCKS.tool_reference, block, at);
      return [{ kind: 'text', text: `The tool ${name} is available.` }];
    }
    default:
      throw invalidField(`${at}.type`, `only models of Anthropic support ${block.type} blocks`);
  }
}

/** Converts the source of an image or a document. `mediaType` is the type for a source that is only a URL. */
function fromSource(source: Source, mediaType: string, at: string, title?: string): TextOrFile[] {
  const name = title !== undefined && { name: title };
  switch (source.type) {
    case 'base64':
      return [{ kind: 'blob', mediaType: source.media_type, data: source.data, ...name }];
    case 'url':
      return [{ kind: 'file', uri: source.url, mediaType, ...name }];
    case 'text': {
      const text = title === undefined ? source.data : `${title}:\n${source.data}`;
      return [{ kind: 'text', text }];
    }
    default: {
      const { content } = source;
      if (typeof content === 'string') return [{ kind: 'text', text: content }];
      return content.flatMap((block, place) => {
        if (block.type === 'text' || block.type === 'image')
          return shown(block, `${at}.content.${place}`);
        throw invalidField(`${at}.content.${place}.type`, 'must be text or image');
      });
    }
  }
}

function resultOf(content: BlockList, at: string): ReturnType<typeof toolResponse> {
  if (typeof content === 'string') return { response: content };
  const parts = content.flatMap((block, place) => shown(block, `${at}.${place}`));
  return toolResponse(parts, '\n');
}
