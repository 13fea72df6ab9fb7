/**
 * The tools that depend on files of the user and of the workspace: `task` with its helpers, and `skill`. The files and
 * the trust in the workspace may change. So the files are read again for each run. They are also read for each request
 * to the model, because each request contains the list of skills.
 */
import type { Model, Tool, Toolset } from '../../agent/index.ts';
import { guarded } from '../approval/guard.ts';
import { loadHelpers, type Helpers } from '../helpers/definition.ts';
import { plainTaskTool, taskTool, type TaskToolOptions } from './task-tool.ts';
import type { CoderHooks } from '../hooks/hooks.ts';
import { isTrusted } from '../settings/trust.ts';
import { hideVariables } from '../shell/environment.ts';
import { skillTool } from '../skills/skill-tool.ts';
import { loadSkills, skillsText, type Skills } from '../skills/skills.ts';
import { notices } from './notices.ts';

export interface OwnToolsOptions extends Omit<TaskToolOptions, 'helpers' | 'model'> {
  readonly configFolder: string;
  /** The root folder of the workspace. */
  readonly root: string;
  readonly hooks: CoderHooks;
}

export function ownTools(options: OwnToolsOptions, model: Model) {
  const { configFolder, root: workspace, guard, hooks, notify } = options;
  /** The problems that the person was told about. */
  const told = new Set<string>();

  /**
   * Loads the helpers and the skills. The person gets one notice for each problem. The environment variables with keys
   * of remote helpers are hidden from the agent's commands.
   */
  async function load(): Promise<Helpers & Skills> {
    const place = { configFolder, workspace, trusted: await isTrusted(configFolder, workspace) };
    const [helpers, skills] = await Promise.all([loadHelpers(place), loadSkills(place)]);
    const keys = [...helpers.helpers.values()].map((each) => 'key' in each && each.key);
    hideVariables(keys.filter((key) => typeof key === 'string'));
    const problems = [...helpers.problems, ...skills.problems];
    for (const problem of problems) {
      if (!told.has(problem)) notify(notices.ignoredFile(problem));
      told.add(problem);
    }
    return { helpers: helpers.helpers, skills: skills.skills, problems };
  }

  function task(chosen: Model, helpers: Helpers['helpers'], skill: readonly Tool[]): Tool {
    const tools = [...options.tools, ...skill];
    return hooks.tool(taskTool({ ...options, tools, helpers, model: chosen }));
  }

  return {
    load,
    /** The same tools without helpers and skills, for descriptions of calls. */
    plain: [plainTaskTool({ ...options, helpers: new Map(), model }), skillTool(new Map())],
    /** Returns the list of skills for the system instruction, or undefined if there are none. */
    skillsText: async () => skillsText((await load()).skills),
    /** Returns the tools for a session with this model. */
    toolset: (chosen: Model): Toolset => ({
      name: 'own',
      async tools() {
        const { helpers, skills } = await load();
        const skill = skills.size === 0 ? [] : [hooks.tool(guarded(skillTool(skills), guard))];
        return [task(chosen, helpers, skill), ...skill];
      },
      async cancel(callId, run) {
        const { helpers } = await load();
        await task(chosen, helpers, []).cancel?.(callId, run);
      },
    }),
  };
}
