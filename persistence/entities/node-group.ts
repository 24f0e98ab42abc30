/** Targetings with a name. */
import { defineEntity, p } from '@mikro-orm/core';
import type { Targeting } from '../../actors/targeting-schema.ts';
import { dates } from './columns.ts';

/** A group: whom it reaches is evaluated when it is used. */
export const NodeGroup = defineEntity({
  name: 'NodeGroup',
  tableName: 'node_group',
  properties: {
    id: p.uuid().primary(),
    name: p.text().unique('node_group_name_taken'),
    description: p.text().nullable(),
    targeting: p.json<Targeting>(),
    ...dates,
  },
});
