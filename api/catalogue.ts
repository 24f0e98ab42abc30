/** Every operation, under its name. The REST routes, the tRPC router, the MCP tools and the OpenAPI document are made from it. */
import { create_cluster, delete_cluster, get_cluster, list_clusters, update_cluster } from './operations/clusters.ts';

export const catalogue = {
  create_cluster, list_clusters, get_cluster, update_cluster, delete_cluster,
} as const;

export type Catalogue = typeof catalogue;
export type OperationName = keyof Catalogue;
