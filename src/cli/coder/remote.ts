/**
 * `/remote` and `--remote`: open the port of the live session on the local network, and make links with which other
 * devices join. This module is loaded on first use.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import path from 'node:path';
import { isLoopback, systemCode, trimEndOf } from '../../base/index.ts';
import { openOwnCertificate } from '../../base/tls/index.ts';
import type { LiveRole } from '../../live/client/index.ts';
import { LIVE_ROLES } from '../../live/client/roles/index.ts';
import { TICKET_MS } from '../../live/index.ts';
import type { AddedAddress, TlsPair } from '../../server.ts';
import { dataFolder } from '../program/folders.ts';
import type { Environment } from '../program/flags.ts';
import type { OpenedLive } from './live-session.ts';

export interface RemoteOptions {
  readonly opened: Pick<OpenedLive, 'access' | 'links' | 'listen' | 'live'>;
  readonly environment: Environment;
  /** The host of --a2a-port, if it is not loopback. The port is then already open to other machines. */
  readonly openHost?: string | undefined;
  /** The address to open. By default, the one from which this machine reaches other networks. */
  readonly host?: string | undefined;
  /** The address of a proxy, for links. If it is set, an address of this machine is opened only if `host` is set. */
  readonly publicUrl?: string | undefined;
  /** Reads the certificate that the flags name. */
  readonly readTls: () => TlsPair | undefined;
  /** Whether to use a self-signed certificate if the flags name no certificate. */
  readonly tls: boolean;
}

interface OpenAddress {
  readonly host: string;
  readonly address: AddedAddress;
  /** Whether the address uses the self-signed certificate. */
  readonly own: boolean;
}

const CERTIFICATE_FILE = 'remote-tls.pem';
const USAGE =
  'Type /remote, /remote view, /remote view,approve (the roles of the other device), /remote tls or /remote off.';
/** An address outside this machine, of a network that is reserved for documentation. Nothing is sent to it. */
const ELSEWHERE = '203.0.113.1';

/** Opens the session to other devices. */
export class Remote {
  readonly #options: RemoteOptions;
  #added: OpenAddress[] = [];
  #fingerprint: string | undefined;
  #tls: boolean;
  #isOpen = false;
  /** The address for links if --a2a-host has opened the port to other machines. */
  #base: string | undefined;

  constructor(options: RemoteOptions) {
    this.#options = options;
    this.#tls = options.tls;
  }

  /** The address for links that are sent to other devices, or undefined if the session is not open to them. */
  get base(): string | undefined {
    const { publicUrl } = this.#options;
    if (!this.#isOpen) return undefined;
    return trimEndOf(publicUrl ?? this.#added[0]?.address.url ?? this.#base ?? '', '/');
  }

  /** Runs `/remote` with these words. Returns a text and, except for `/remote off`, the link with the ticket. */
  async run(words: readonly string[]): Promise<{ readonly text: string; readonly url?: string }> {
    const [first = ''] = words;
    if (first === 'off' && words.length === 1) return { text: await this.#close() };
    const wanted = words.flatMap((word) => word.split(',')).filter((word) => word !== '');
    const unknown = wanted.find((word) => word !== 'tls' && !isRole(word));
    if (unknown !== undefined) throw new Error(`"${unknown}" is not a role. ${USAGE}`);
    const named = wanted.filter(isRole);
    const roles = named.length === 0 ? LIVE_ROLES : named;
    if (wanted.includes('tls')) this.#tls = true;
    const base = await this.#open();
    const ticket = this.#options.opened.access.issueTicket(roles);
    return { text: this.#text(base, roles), url: `${base}/#ticket=${ticket}` };
  }

  /** Opens the addresses, unless they are open already. Returns the address for links. */
  async #open(): Promise<string> {
    const { opened, openHost, publicUrl } = this.#options;
    const listening = await opened.listen();
    const given = this.#options.readTls();
    if (given) listening.setTls(given);
    if (openHost !== undefined) {
      const host = isWildcard(openHost) ? await primaryAddress() : openHost;
      const url = new URL(listening.url);
      url.host = `${inUrl(host)}:${listening.port}`;
      this.#base = url.origin;
    } else if (publicUrl === undefined || this.#options.host !== undefined) {
      await this.#openAddresses(given);
    }
    this.#isOpen = true;
    return this.base ?? '';
  }

  async #openAddresses(given: TlsPair | undefined): Promise<void> {
    const { opened, host, environment } = this.#options;
    const listening = await opened.listen();
    const hosts =
      host === undefined ? [await primaryAddress()] : isWildcard(host) ? allAddresses() : [host];
    const own = !given && this.#tls;
    // An open address stays open for its clients if it is in `hosts` and its kind of certificate does not change.
    const same = (each: OpenAddress) => hosts.includes(each.host) && each.own === own;
    const old = this.#added.filter((each) => !same(each));
    this.#added = this.#added.filter(same);
    for (const { address } of old) await address.close();
    const certificate = own ? ownCertificate(environment, hosts, listening.port) : undefined;
    this.#fingerprint = certificate?.fingerprint;
    for (const each of hosts) {
      if (this.#added.some((known) => known.host === each)) continue;
      const tls = certificate && { tls: { cert: certificate.cert, key: certificate.key } };
      try {
        this.#added.push({ host: each, address: await listening.addAddress(each, tls), own });
      } catch (error) {
        throw new Error(openProblem(systemCode(error), each, listening.port), { cause: error });
      }
    }
  }

  async #close(): Promise<string> {
    const { access, links, live } = this.#options.opened;
    links.withdraw();
    for (const token of access.withdraw()) await live.removeToken(token);
    for (const { address } of this.#added) await address.close();
    this.#added = [];
    this.#isOpen = false;
    return this.#options.openHost === undefined
      ? 'Other devices can no longer join. All links and their tokens are invalid.'
      : 'All links and their tokens are invalid. The port of --a2a-host stays open for clients with a token of --a2a-token.';
  }

  #text(base: string, roles: readonly LiveRole[]): string {
    const until = new Date(Date.now() + TICKET_MS).toTimeString().slice(0, 8);
    const lines = [
      '/clients lists the clients that have joined. /remote off makes all links and their tokens invalid.',
    ];
    if (!base.startsWith('https:') && !isLoopback(new URL(base).hostname)) {
      const open = 'The traffic is not encrypted: others in this network can read it.';
      lines.push(`${open} ${this.#encryptionAdvice()}`);
    }
    if (this.#fingerprint !== undefined && base.startsWith('https:')) {
      lines.push(
        `The browser will warn about the certificate, because Parley made it. Its SHA-256 fingerprint is ${this.#fingerprint}`,
      );
    }
    lines.push(
      `Open this link on the other device. It works once, until ${until}, with the roles ${roles.join(', ')}:`,
    );
    return lines.join('\n');
  }

  /** Returns how to encrypt the traffic. `/remote tls` works only for the addresses that /remote itself opens. */
  #encryptionAdvice(): string {
    const { openHost, publicUrl } = this.#options;
    if (publicUrl !== undefined) return 'Use an https address for --public-url.';
    return openHost === undefined
      ? '/remote tls encrypts it.'
      : 'Start parley with --tls-cert and --tls-key to encrypt it.';
  }
}

function isRole(word: string): word is LiveRole {
  return LIVE_ROLES.some((role) => role === word);
}

function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function ownCertificate(environment: Environment, hosts: readonly string[], port: number) {
  try {
    return openOwnCertificate(path.join(dataFolder(environment), CERTIFICATE_FILE), hosts);
  } catch (error) {
    // Of the hosts, only the value of --a2a-host can be invalid.
    if (systemCode(error) !== 'ERR_INVALID_URL') throw error;
    throw new Error(openProblem('ENOTFOUND', hosts.join(', '), port), { cause: error });
  }
}

function openProblem(code: string | undefined, host: string, port: number): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is in use: start parley with another port (--a2a-port).`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine: change --a2a-host.`;
    default:
      return `Cannot listen on ${host}:${port} (${code ?? 'unknown error'}).`;
  }
}

/** Returns the IPv4 addresses of this machine, without loopback. */
function allAddresses(): string[] {
  const found = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address);
  if (found.length > 0) return found;
  throw new Error('This machine is not in a network: connect it to one, then type /remote again.');
}

/** Returns the address from which this machine sends to other networks. */
async function primaryAddress(): Promise<string> {
  const [first = ''] = allAddresses();
  // Connecting a UDP socket sends nothing. It only chooses the address.
  await using socket = createSocket('udp4');
  try {
    const connected = once(socket, 'connect');
    socket.connect(9, ELSEWHERE);
    await connected;
    const { address } = socket.address();
    return isLoopback(address) ? first : address;
  } catch {
    // There is no route to other networks.
    return first;
  }
}
