/**
 * The prompts of MCP servers as slash commands. The arguments are given by position, `/SERVER:PROMPT first second`, or
 * by name, `/SERVER:PROMPT language=German text="Good morning"`. The last argument takes the rest of the line. If its
 * value starts with a quotation mark, the value ends at the closing quotation mark.
 */
import { reasonOf } from '../../base/index.ts';
import type { McpPromptArgument } from '../../agent/index.ts';
import type { McpTools } from '../session/mcp-tools.ts';
import { argument, type CoderCommand } from './command.ts';

/** Returns the commands for the prompts. Several prompts may have the same command name. */
export function promptCommands({ prompts }: Pick<McpTools, 'prompts'>): CoderCommand[] {
  return prompts().map(commandOf);
}

/**
 * Returns the name of the command for a prompt. In the prompt's name, invalid characters are replaced, and only the
 * first 64 characters are used.
 */
export function promptCommandName(server: string, prompt: string): string {
  return `${server}:${prompt.replaceAll(/[^\w.:-]+/g, '-').slice(0, 64)}`;
}

function commandOf({ server, prompt }: ReturnType<McpTools['prompts']>[number]): CoderCommand {
  const name = promptCommandName(server, prompt.name);
  return {
    name,
    description: prompt.description || `The prompt ${prompt.name} of the MCP server ${server}.`,
    arguments: prompt.arguments.map((each) =>
      argument(shownName(each), each.description, each.required),
    ),
    check(args) {
      const given = promptArguments(prompt.arguments, args);
      const missing = prompt.arguments.filter(
        (each) => each.required && !Object.hasOwn(given, each.name),
      );
      if (missing.length === 0) return undefined;
      return `/${name} needs ${missing.map((each) => `${shownName(each)}=…`).join(' ')}`;
    },
    async content(args, signal) {
      try {
        return await prompt.get(promptArguments(prompt.arguments, args), signal);
      } catch (error) {
        signal.throwIfAborted();
        const text = `[The prompt /${name} could not be read: ${reasonOf(error)}. Tell the person.]`;
        return [{ kind: 'text', text }];
      }
    },
  };
}

function shownName({ name }: McpPromptArgument): string {
  return name.replaceAll(/[^\w.-]+/g, '_').slice(0, 64);
}

/** Parses arguments that are written as `name=value` or by position. Quotation marks group words. */
export function promptArguments(
  declared: readonly McpPromptArgument[],
  text: string,
): Record<string, string> {
  const given = new Map<string, string>();
  let rest = text.trim();
  while (rest !== '') {
    const free = declared.filter(({ name }) => !given.has(name));
    const [prefix = '', name] = /^(?:--)?([\w.-]+)=/.exec(rest) ?? [];
    const named = free.find((each) => each.name === name);
    const target = named ?? free[0];
    if (!target) break;
    const value = named ? rest.slice(prefix.length) : rest;
    const { word, after } = nextWord(value, free.length === 1);
    given.set(target.name, word);
    rest = after;
  }
  return Object.fromEntries(given);
}

function nextWord(text: string, isLast: boolean): { word: string; after: string } {
  const [quoted, , inside = ''] = /^(["'])(.*?)\1(?=\s|$)/s.exec(text) ?? [];
  if (quoted !== undefined) return { word: inside, after: text.slice(quoted.length).trim() };
  if (isLast) return { word: text, after: '' };
  const [word = ''] = /^\S*/.exec(text) ?? [];
  return { word, after: text.slice(word.length).trim() };
}
