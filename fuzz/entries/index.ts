import type { Entry } from '../entry.ts';
import { PROTOCOL } from './protocol.ts';
import { TEXTS } from './texts.ts';

export const ENTRIES: readonly Entry[] = [...TEXTS, ...PROTOCOL];
