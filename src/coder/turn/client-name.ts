/** The name under which a client is shown to the person and to other clients. */
import { cutText, isObject } from '../../base/index.ts';
import { EXTENSION_URI } from '../../protocol/development-tool/index.ts';
import type { Message, User } from '../../protocol/index.ts';

/** Maximum number of characters of a client's name. */
export const MAX_CLIENT_NAME = 80;

/**
 * Returns the name of the user or, if the user has none, the name in the metadata of the message. Returns an empty text
 * if neither has a name.
 */
export function clientName(user: User | undefined, message: Message | undefined): string {
  const own = message?.metadata?.[EXTENSION_URI];
  const given: unknown = user?.['name'] ?? (isObject(own) ? own['client'] : undefined);
  return typeof given === 'string' ? displayName(given, MAX_CLIENT_NAME) : '';
}

/** Returns the first `maxChars` characters of the name, on one line and without control characters. */
export function displayName(name: string, maxChars: number): string {
  return cutText(name.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim(), maxChars);
}
