/**
 * Stores the logins to MCP servers in `mcp-logins` in the data folder. Only the user may read these files. They are
 * encrypted if there is a secret key. Only one process at a time changes a login, because many authorization servers
 * accept a refresh token only once.
 *
 * A login belongs to the name and the URL of a server. If the URL in the settings changes, the tokens are not sent to
 * the new address.
 */
import { createHash, randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import { BoundedMap, boundedFetch } from '../../base/index.ts';
import { writePrivateFile } from '../../base/files/index.ts';
import { fetchNamedBy } from '../../base/net/index.ts';
import type { McpAuthorization } from '../../agent/index.ts';
import { mcpAuthorization, type McpLogins } from '../../agent/internal/index.ts';
import { exclusively } from '../files/exclusive.ts';
import { readText } from '../settings/settings.ts';

const MAX_RESPONSE_BYTES = 1024 * 1024;
const SALT_BYTES = 16;
/** Maximum number of cached sealers. Each salt has its own sealer, and a login gets a new salt each time it is stored. */
const MAX_SEALERS = 100;

/**
 * Encrypts and decrypts text. `place` is the name of the file that contains the text. `open` returns undefined if the
 * text is damaged, or was encrypted with another key or for another file.
 */
export interface Sealer {
  seal(text: string, place: string): Uint8Array;
  open(sealed: Uint8Array, place: string): string | undefined;
}

export interface LoginPlace {
  readonly dataFolder: string;
  /** Creates the sealer for a salt. By default the logins are not encrypted. */
  readonly sealer?: ((salt: Uint8Array) => Sealer) | undefined;
  /** Private networks that may contain an authorization server. */
  readonly allowNetworks?: readonly string[] | undefined;
}

const Login = z.object({
  client: z.looseObject({ client_id: z.string(), client_secret: z.string().optional() }),
  tokens: z
    .looseObject({ access_token: z.string(), refresh_token: z.string().optional() })
    .optional(),
  discovery: z.looseObject({ authorizationServerUrl: z.string() }),
});
const Sealed = z.object({ salt: z.base64(), sealed: z.base64() });

/** Returns the store of the login to this server. */
export function mcpLogins(
  name: string,
  url: string,
  place: LoginPlace,
): McpLogins & {
  /** Removes the login. Returns false if there is no login. */
  remove(): Promise<boolean>;
} {
  const id = createHash('sha256').update(url).digest('hex').slice(0, 16);
  const file = path.join(place.dataFolder, 'mcp-logins', `${name}-${id}.json`);

  async function load() {
    const text = await readText(file);
    if (text === undefined) return undefined;
    const json = unsealed(parsed(text), file, place);
    return Login.safeParse(json).data;
  }

  return {
    load,
    update: (change) =>
      exclusively(file, async () => {
        const text = JSON.stringify(await change(await load()));
        writePrivateFile(file, `${JSON.stringify(sealed(text, file, place))}\n`);
      }),
    remove: () =>
      exclusively(file, async () => {
        const existed = (await readText(file)) !== undefined;
        await rm(file, { force: true });
        return existed;
      }),
  };
}

/** Returns the authorization for a server in the settings. */
export function storedAuthorization(
  name: string,
  url: string,
  place: LoginPlace,
): McpAuthorization {
  const needsLogin = `it requires a login: run parley mcp login ${name}`;
  return mcpAuthorization(mcpLogins(name, url, place), needsLogin, oauthFetch(url, place));
}

/**
 * Returns the `fetch` function for a login. The MCP server chooses the address of the authorization server, so this
 * address must not be in a private network. There are three exceptions: the networks in `allowNetworks`, the host of
 * the MCP server itself, and this machine if the MCP server is on this machine too.
 */
export function oauthFetch(
  url: string,
  { allowNetworks }: Pick<LoginPlace, 'allowNetworks'>,
): (input: string | URL, init?: RequestInit) => Promise<Response> {
  return boundedFetch(MAX_RESPONSE_BYTES, fetchNamedBy(url, { allowNetworks }));
}

/** The sealers by salt. They are cached, because deriving a key is slow on purpose. */
const sealers = new BoundedMap<Sealer>(MAX_SEALERS);

function sealerFor(salt: Uint8Array, { sealer }: LoginPlace): Sealer | undefined {
  if (!sealer) return undefined;
  const name = Buffer.from(salt).toString('base64');
  const found = sealers.get(name) ?? sealer(salt);
  sealers.set(name, found);
  return found;
}

/** Parses a file. A damaged file counts as empty, so that the next login replaces it. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function sealed(text: string, file: string, place: LoginPlace): unknown {
  const salt = randomBytes(SALT_BYTES);
  const box = sealerFor(salt, place);
  if (!box) return JSON.parse(text);
  const secret = Buffer.from(box.seal(text, path.basename(file)));
  return { salt: salt.toString('base64'), sealed: secret.toString('base64') };
}

function unsealed(json: unknown, file: string, place: LoginPlace): unknown {
  const secret = Sealed.safeParse(json).data;
  if (!secret) return json;
  const box = sealerFor(Buffer.from(secret.salt, 'base64'), place);
  const text = box?.open(Buffer.from(secret.sealed, 'base64'), path.basename(file));
  return text === undefined ? undefined : JSON.parse(text);
}
