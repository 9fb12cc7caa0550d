// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A switch that forwards offloaded flows between veth devices before the kernel sees the packets,
 * as a router's hardware does. /proc/mock_switch takes one command per line:
 *
 *   ports DEVICE...     the devices become ports (after `modprobe`, none is)
 *   entries N           size of the table; further flows are refused (-ENOSPC)
 *   refuse PORT         refuses flows with this TCP or UDP port; 0: none
 *   refuse-in DEVICE    refuses flows that enter through the device; "-": none
 *   count 0|1           0: reports neither bytes nor packets to the kernel
 *   forget              loses all entries without telling the kernel
 *   reset               the links of all ports go down and up
 *
 * Reading it prints one line per entry.
 */
#include <linux/etherdevice.h>
#include <linux/hashtable.h>
#include <linux/if_pppox.h>
#include <linux/if_vlan.h>
#include <linux/jhash.h>
#include <linux/module.h>
#include <linux/ppp_defs.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <net/flow_offload.h>
#include <net/gso.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/netfilter/nf_flow_table.h>

#define MAX_PORTS 8
#define MAX_MANGLES 16
#define MAX_TAGS 2

/* No VLAN: the kernel does not tell drivers which one a flow has (nf_flow_rule_match). */
struct flow_key {
	int ingress;
	__be16 l3;
	u8 l4;
	struct in6_addr source, destination;
	__be16 sport, dport;
};

struct mangle {
	u8 header;
	u32 offset, mask, value;
};

struct entry {
	struct hlist_node by_key, by_cookie;
	unsigned long cookie;
	struct flow_key key;
	struct mangle mangles[MAX_MANGLES];
	u8 mangle_count, tags;
	u16 vid[MAX_TAGS];
	bool ppp;
	u16 session;
	struct net_device *out;
	u64 bytes, packets, reported_bytes, reported_packets, last;
};

struct port {
	struct net_device *device, *cable;
};

static DEFINE_SPINLOCK(lock);
static DEFINE_HASHTABLE(by_key, 12);
static DEFINE_HASHTABLE(by_cookie, 12);
static struct port ports[MAX_PORTS];
static unsigned int port_count, entry_count, limit = 4096, hits;
static u16 refused_port;
static char refused_in[IFNAMSIZ];
static bool counts = true;
static struct net_device_ops cable_ops;
static const struct net_device_ops *veth_ops;
static LIST_HEAD(callbacks);

static bool is_port(const struct net_device *device)
{
	unsigned int i;

	for (i = 0; i < port_count; i++)
		if (ports[i].device == device)
			return true;
	return false;
}

static u32 key_hash(const struct flow_key *key)
{
	return jhash(key, sizeof(*key), 0);
}

static struct entry *entry_of(unsigned long cookie)
{
	struct entry *entry;

	hash_for_each_possible(by_cookie, entry, by_cookie, cookie)
		if (entry->cookie == cookie)
			return entry;
	return NULL;
}

static void drop_entry(struct entry *entry)
{
	hash_del(&entry->by_key);
	hash_del(&entry->by_cookie);
	entry_count--;
	kfree(entry);
}

static void drop_entries(void)
{
	struct hlist_node *next;
	struct entry *entry;
	int bucket;

	spin_lock_bh(&lock);
	hash_for_each_safe(by_cookie, bucket, next, entry, by_cookie)
		drop_entry(entry);
	spin_unlock_bh(&lock);
}

#include "packets.h"

/* Flows */

static bool read_key(struct flow_rule *rule, struct flow_key *key)
{
	struct flow_match_meta meta;
	struct flow_match_basic basic;
	struct flow_match_ports ports;
	struct flow_match_control control;

	memset(key, 0, sizeof(*key));
	flow_rule_match_meta(rule, &meta);
	flow_rule_match_basic(rule, &basic);
	flow_rule_match_control(rule, &control);
	if (!flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_PORTS))
		return false;
	flow_rule_match_ports(rule, &ports);
	key->ingress = meta.key->ingress_ifindex;
	key->l3 = basic.key->n_proto;
	key->l4 = basic.key->ip_proto;
	key->sport = ports.key->src;
	key->dport = ports.key->dst;
	if (control.key->addr_type == FLOW_DISSECTOR_KEY_IPV4_ADDRS) {
		struct flow_match_ipv4_addrs addresses;

		flow_rule_match_ipv4_addrs(rule, &addresses);
		key->source.s6_addr32[0] = addresses.key->src;
		key->destination.s6_addr32[0] = addresses.key->dst;
	} else {
		struct flow_match_ipv6_addrs addresses;

		flow_rule_match_ipv6_addrs(rule, &addresses);
		key->source = addresses.key->src;
		key->destination = addresses.key->dst;
	}
	return true;
}

static int read_actions(struct flow_rule *rule, struct entry *entry)
{
	struct flow_action_entry *action;
	int i;

	flow_action_for_each(i, action, &rule->action) {
		switch (action->id) {
		case FLOW_ACTION_MANGLE:
			if (entry->mangle_count == MAX_MANGLES)
				return -E2BIG;
			entry->mangles[entry->mangle_count++] = (struct mangle){
				.header = action->mangle.htype,
				.offset = action->mangle.offset,
				.mask = action->mangle.mask,
				.value = action->mangle.val & ~action->mangle.mask,
			};
			break;
		case FLOW_ACTION_VLAN_PUSH:
			if (entry->tags == MAX_TAGS || action->vlan.proto != htons(ETH_P_8021Q))
				return -EOPNOTSUPP;
			entry->vid[entry->tags++] = action->vlan.vid;
			break;
		case FLOW_ACTION_PPPOE_PUSH:
			entry->ppp = true;
			entry->session = action->pppoe.sid;
			break;
		case FLOW_ACTION_REDIRECT:
			entry->out = action->dev;
			break;
		case FLOW_ACTION_CSUM:
		case FLOW_ACTION_VLAN_POP:
			break;
		default:
			return -EOPNOTSUPP;
		}
	}
	return entry->out && is_port(entry->out) ? 0 : -EOPNOTSUPP;
}

static bool is_refused(const struct flow_key *key)
{
	struct net_device *in = dev_get_by_index(&init_net, key->ingress);
	bool refused = !in || !is_port(in) || !strcmp(in->name, refused_in) ||
		       (refused_port && (ntohs(key->sport) == refused_port ||
					 ntohs(key->dport) == refused_port));

	dev_put(in);
	return refused;
}

static int add_flow(struct flow_cls_offload *flow)
{
	struct flow_rule *rule = flow_cls_offload_flow_rule(flow);
	struct entry *entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	int error = -EOPNOTSUPP;

	if (!entry)
		return -ENOMEM;
	entry->cookie = flow->cookie;
	entry->last = get_jiffies_64();
	if (!read_key(rule, &entry->key) || is_refused(&entry->key))
		goto refuse;
	error = read_actions(rule, entry);
	if (error)
		goto refuse;
	spin_lock_bh(&lock);
	error = entry_of(entry->cookie) ? -EEXIST : entry_count >= limit ? -ENOSPC : 0;
	if (!error) {
		hash_add(by_key, &entry->by_key, key_hash(&entry->key));
		hash_add(by_cookie, &entry->by_cookie, entry->cookie);
		entry_count++;
	}
	spin_unlock_bh(&lock);
	if (!error)
		return 0;
refuse:
	kfree(entry);
	return error;
}

static int remove_flow(struct flow_cls_offload *flow)
{
	struct entry *entry;

	spin_lock_bh(&lock);
	entry = entry_of(flow->cookie);
	if (entry)
		drop_entry(entry);
	spin_unlock_bh(&lock);
	return entry ? 0 : -ENOENT;
}

static int read_flow(struct flow_cls_offload *flow)
{
	struct entry *entry;

	spin_lock_bh(&lock);
	entry = entry_of(flow->cookie);
	if (entry) {
		u64 bytes = counts ? entry->bytes - entry->reported_bytes : 0;
		u64 packets = counts ? entry->packets - entry->reported_packets : 0;

		flow_stats_update(&flow->stats, bytes, packets, 0, entry->last,
				  FLOW_ACTION_HW_STATS_DELAYED);
		entry->reported_bytes = entry->bytes;
		entry->reported_packets = entry->packets;
	}
	spin_unlock_bh(&lock);
	return entry ? 0 : -ENOENT;
}

static int flow_command(enum tc_setup_type type, void *data, void *port)
{
	struct flow_cls_offload *flow = data;

	if (type != TC_SETUP_CLSFLOWER)
		return -EOPNOTSUPP;
	switch (flow->command) {
	case FLOW_CLS_REPLACE:
		return add_flow(flow);
	case FLOW_CLS_DESTROY:
		return remove_flow(flow);
	case FLOW_CLS_STATS:
		return read_flow(flow);
	default:
		return -EOPNOTSUPP;
	}
}

static void release(void *port) {}

static int bind_port(struct net_device *device, struct Qdisc *queue, void *private,
		     enum tc_setup_type type, void *type_data, void *data,
		     void (*cleanup)(struct flow_block_cb *))
{
	struct flow_block_offload *offer = type_data;
	struct flow_block_cb *callback;

	if (type != TC_SETUP_FT || !device || !is_port(device))
		return -EOPNOTSUPP;
	offer->driver_block_list = &callbacks;
	switch (offer->command) {
	case FLOW_BLOCK_BIND:
		callback = flow_indr_block_cb_alloc(flow_command, device, device, release, offer,
						    device, queue, data, private, cleanup);
		if (IS_ERR(callback))
			return PTR_ERR(callback);
		flow_block_cb_add(callback, offer);
		list_add_tail(&callback->driver_list, &callbacks);
		return 0;
	case FLOW_BLOCK_UNBIND:
		callback = flow_block_cb_lookup(offer->block, flow_command, device);
		if (!callback)
			return -ENOENT;
		flow_indr_block_cb_remove(callback, offer);
		list_del(&callback->driver_list);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* Control */

static void set_able(struct net_device *device, bool able)
{
	device->hw_features |= NETIF_F_HW_TC;
	device->wanted_features &= ~NETIF_F_HW_TC;
	if (able)
		device->wanted_features |= NETIF_F_HW_TC;
	netdev_update_features(device);
	if (!able)
		device->hw_features &= ~NETIF_F_HW_TC;
}

static int add_port(const char *name)
{
	struct net_device *device = __dev_get_by_name(&init_net, name), *cable;

	if (!device || is_port(device))
		return device ? 0 : -ENODEV;
	if (port_count == MAX_PORTS || !device->netdev_ops->ndo_get_peer_dev)
		return -EOPNOTSUPP;
	cable = device->netdev_ops->ndo_get_peer_dev(device);
	if (!cable)
		return -ENOLINK;
	if (!veth_ops) {
		veth_ops = cable->netdev_ops;
		cable_ops = *veth_ops;
		cable_ops.ndo_start_xmit = cable_xmit;
	}
	dev_hold(device);
	dev_hold(cable);
	ports[port_count++] = (struct port){ device, cable };
	set_able(device, true);
	WRITE_ONCE(cable->netdev_ops, &cable_ops);
	return 0;
}

static void remove_ports(void)
{
	unsigned int i, count = port_count;

	port_count = 0;
	for (i = 0; i < count; i++) {
		WRITE_ONCE(ports[i].cable->netdev_ops, veth_ops);
		set_able(ports[i].device, false);
	}
	synchronize_net();
	for (i = 0; i < count; i++) {
		dev_put(ports[i].cable);
		dev_put(ports[i].device);
	}
}

/* A driver that resets its chip sets up its entries again. */
static void reset(void)
{
	unsigned int i;

	for (i = 0; i < port_count; i++)
		netif_carrier_off(ports[i].device);
	synchronize_net();
	for (i = 0; i < port_count; i++)
		netif_carrier_on(ports[i].device);
}

static int command(char *text)
{
	char *word = strsep(&text, " ");
	int error = 0, number;

	if (!strcmp(word, "ports")) {
		while (!error && text)
			error = add_port(strsep(&text, " "));
		return error;
	}
	if (!strcmp(word, "forget")) {
		drop_entries();
		return 0;
	}
	if (!strcmp(word, "reset")) {
		reset();
		return 0;
	}
	if (!text)
		return -EINVAL;
	if (!strcmp(word, "refuse-in")) {
		strscpy(refused_in, text, sizeof(refused_in));
		return 0;
	}
	error = kstrtoint(text, 0, &number);
	if (error)
		return error;
	if (!strcmp(word, "entries"))
		limit = number;
	else if (!strcmp(word, "refuse"))
		refused_port = number;
	else if (!strcmp(word, "count"))
		counts = number;
	else
		return -EINVAL;
	return 0;
}

static ssize_t control_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	char *text = memdup_user_nul(from, size);
	int error;

	if (IS_ERR(text))
		return PTR_ERR(text);
	rtnl_lock();
	error = command(strim(text));
	rtnl_unlock();
	kfree(text);
	return error ? error : size;
}

static int control_show(struct seq_file *file, void *unused)
{
	struct entry *entry;
	int bucket;

	spin_lock_bh(&lock);
	seq_printf(file, "entries %u of %u, packets %u\n", entry_count, limit, hits);
	hash_for_each(by_cookie, bucket, entry, by_cookie)
		seq_printf(file, "in %d proto %u sport %u dport %u out %s packets %llu bytes %llu\n",
			   entry->key.ingress, entry->key.l4, ntohs(entry->key.sport),
			   ntohs(entry->key.dport), entry->out->name, entry->packets, entry->bytes);
	spin_unlock_bh(&lock);
	return 0;
}

static int control_open(struct inode *inode, struct file *file)
{
	return single_open(file, control_show, NULL);
}

static const struct proc_ops control = {
	.proc_open = control_open,
	.proc_read = seq_read,
	.proc_write = control_write,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

static int __init mock_switch_init(void)
{
	int error = flow_indr_dev_register(bind_port, NULL);

	if (error)
		return error;
	if (!proc_create("mock_switch", 0600, NULL, &control)) {
		flow_indr_dev_unregister(bind_port, NULL, release);
		return -ENOMEM;
	}
	return 0;
}

static void __exit mock_switch_exit(void)
{
	remove_proc_entry("mock_switch", NULL);
	flow_indr_dev_unregister(bind_port, NULL, release);
	rtnl_lock();
	remove_ports();
	rtnl_unlock();
	drop_entries();
}

module_init(mock_switch_init);
module_exit(mock_switch_exit);
MODULE_DESCRIPTION("Switch that forwards offloaded flows between veth devices");
MODULE_LICENSE("GPL");
