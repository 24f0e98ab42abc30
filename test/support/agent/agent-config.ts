/** Settings of an agent as its program reads them, with every port that nobody chose at the usual one. */
import { AGENT_SETTINGS, type AgentConfig, type GivenConfig } from '../../../agent/config.ts';
import { DEFAULT_PORTS, PORT_SETTINGS, type PortSetting } from '../../../agent/served-ports.ts';
import { readSettings } from '../../../settings/environment.ts';

/** As they are given. */
export function givenConfig(env: Readonly<Record<string, string>>): GivenConfig {
  const read = readSettings(AGENT_SETTINGS, env);
  if (!read.ok) throw new Error(read.problems.join('\n'));
  return read.settings;
}

/** With its ports. */
export function agentConfig(env: Readonly<Record<string, string>>): AgentConfig {
  const given = givenConfig(env);
  const ports: Record<PortSetting, number> = { ...DEFAULT_PORTS };
  for (const setting of PORT_SETTINGS) ports[setting] = given[setting] || DEFAULT_PORTS[setting];
  return { ...given, ...ports };
}
