import { Turns } from '../../base/index.ts';

/**
 * A queue for each file. A change reads a file and writes it afterwards. Two changes of one file in this process must
 * not overlap, because one of them would be lost. Workspaces use real paths as keys, so overlapping workspaces share
 * the queue.
 */
export const fileTurns = new Turns();
