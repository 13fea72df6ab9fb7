import type { Entry } from '../entry.ts';
import { PROTOCOL } from './protocol.ts';
import { PROTOBUF } from './protobuf.ts';
import { SERVER } from './server.ts';
import { GATEWAY } from './gateway.ts';
import { LIVE } from './live.ts';
import { TOOLS } from './tools.ts';
import { TEXTS } from './texts.ts';

export const ENTRIES: readonly Entry[] = [
  ...TEXTS,
  ...PROTOCOL,
  ...PROTOBUF,
  ...SERVER,
  ...GATEWAY,
  ...LIVE,
  ...TOOLS,
];
