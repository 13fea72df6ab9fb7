/** The prompts of an MCP server. They are templates that a person chooses, for example as slash commands. */
import type { GetPromptResult, Prompt } from '@modelcontextprotocol/client';
import { elide } from '../../base/index.ts';
import type { ContentPart } from '../content.ts';
import { readContent, type SaveMcpFile } from './mcp-result.ts';
import { listed } from '../tool-result.ts';

const MAX_DESCRIPTION_LENGTH = 500;
const MAX_ARGUMENTS = 16;
/** Maximum total length of the texts of a prompt, in characters. */
const MAX_TEXT_LENGTH = 200_000;

/** An argument of a prompt. */
export interface McpPromptArgument {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
}

/** A prompt of an MCP server. */
export interface McpPrompt {
  /** The server's name for the prompt. */
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly McpPromptArgument[];
  /** Returns the content of the prompt with these arguments. */
  get(args: Record<string, string>, signal: AbortSignal): Promise<readonly ContentPart[]>;
}

/** @internal */
export function toMcpPrompt(
  { name, title, description, arguments: taken = [] }: Prompt,
  get: McpPrompt['get'],
): McpPrompt {
  return {
    name,
    description: listed(description ?? title ?? '', MAX_DESCRIPTION_LENGTH),
    arguments: taken.slice(0, MAX_ARGUMENTS).map((each) => ({
      name: each.name,
      description: listed(each.description ?? '', MAX_DESCRIPTION_LENGTH),
      required: each.required === true,
    })),
    get,
  };
}

/**
 * Converts the messages of a prompt to one message of the user.
 *
 * @internal
 */
export async function promptContent(
  { messages }: GetPromptResult,
  save?: SaveMcpFile,
): Promise<ContentPart[]> {
  const isDialogue = messages.some(({ role }) => role === 'assistant');
  const found: ContentPart[] = [];
  let left = MAX_TEXT_LENGTH;
  for (const { role, content } of messages) {
    const { texts, parts } = await readContent([content], save);
    const speaker = isDialogue ? `${role === 'assistant' ? 'Assistant' : 'User'}: ` : '';
    for (const text of texts) {
      found.push({ kind: 'text', text: elide(`${speaker}${text}`, left) });
      left = Math.max(0, left - text.length);
    }
    for (const part of parts) {
      if (part.kind === 'file') {
        found.push({ kind: 'text', text: `[file ${part.name ?? ''} at ${part.uri}]` });
      } else if (part.mediaType.startsWith('image/')) {
        // Only images are added, because not every model accepts other files. For every file that is not an image, the
        // texts contain a note, with the path of the file if it was saved.
        found.push(part);
      }
    }
  }
  return found;
}
